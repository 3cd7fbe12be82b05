// The list of slices, sorted by position or change, and navigation. These are methods of the viewer.

import { showError } from "./data.js";
import { $, count, make } from "./dom.js";

const CHANGE = ["mean change", "mean of |After - Before| over the body (above -500 HU) outside the metal"];
const METAL = ["metal", "number of metal pixels"];

export const slices = {
  fillSlices() {
    const order = this.about.slices.map((_, n) => n);
    const change = (n) => this.about.slices[n].mean_change_hu ?? 0;
    if (this.byChange) order.sort((a, b) => change(b) - change(a) || a - b);
    const heading = this.about.kind === "evaluation" ? METAL : CHANGE;
    const most = Math.max(1e-9, ...order.map(change));
    $("slices").replaceChildren(...order.map((n) => {
      const slice = this.about.slices[n];
      const item = make("li", { title: slice.reason || slice.status });
      item.dataset.number = n;
      item.classList.toggle("clean", !slice.metal_pixels);
      const text = this.about.kind === "evaluation" ? `\u200e${slice.status}\u200e` : slice.status === "unchanged" ? "no metal" : slice.status;
      const amount = this.about.kind === "evaluation" ? `${slice.metal_pixels} px` : slice.mean_change_hu ? `${slice.mean_change_hu.toFixed(1)} HU` : "";
      item.append(...[n + 1, text].map((part) => make("span", { textContent: part })), make("span", { textContent: amount, title: heading[1] }));
      item.append(make("i", { style: `width:${100 * change(n) / most}%` }));
      item.addEventListener("click", () => this.go(n));
      return item;
    }));
    $("list-head").replaceChildren(make("span", { textContent: count(order.length, "slice") }), make("span", { textContent: heading[0], title: heading[1] }));
    $("slices").classList.toggle("cases", this.about.kind === "evaluation");
    for (const id of ["by-number", "by-change"]) $(id).hidden = this.about.kind === "evaluation";
    $("by-number").classList.toggle("on", !this.byChange);
    $("by-change").classList.toggle("on", this.byChange);
    this.markSlice();
  },

  markSlice() {
    for (const item of $("slices").children) {
      const here = Number(item.dataset.number) === this.number;
      item.classList.toggle("on", here);
      if (here) item.scrollIntoView({ block: "nearest" });
    }
  },

  go(number) {
    const wanted = Math.min(this.about.slices.length - 1, Math.max(0, number));
    if (wanted === this.number) return;
    this.number = wanted;
    this.refresh().catch(showError);
  },

  // In the order of positions, however the list is sorted.
  step(by) { this.go(this.number + by); },

  // Go to the slice with the largest change, then the next largest, and start again; skip the current slice.
  nextChanged() {
    const change = (n) => this.about.slices[n].mean_change_hu ?? 0;
    const ranked = this.about.slices.map((_, n) => n).filter((n) => change(n) > 0).sort((a, b) => change(b) - change(a) || a - b);
    if (!ranked.length) { showError(new Error("This result has no changed slice.")); return; }
    this.rank = (this.rank + 1) % ranked.length;
    if (ranked[this.rank] === this.number) this.rank = (this.rank + 1) % ranked.length;
    this.go(ranked[this.rank]);
  },
};
