// The list of slices: in order or by how much was changed, and the way from one to the next. These are methods of the viewer.

import { complain } from "./data.js";
import { $, make } from "./dom.js";

export const slices = {
  fillSlices() {
    const order = this.about.slices.map((_, n) => n);
    const change = (n) => this.about.slices[n].mean_change_hu ?? 0;
    if (this.byChange) order.sort((a, b) => change(b) - change(a) || a - b);
    const most = Math.max(1e-9, ...order.map(change));
    $("slices").replaceChildren(...order.map((n) => {
      const slice = this.about.slices[n];
      const item = make("li", { title: slice.reason || slice.status });
      item.dataset.number = n;
      item.classList.toggle("clean", !slice.metal_pixels);
      const text = this.about.kind === "evaluation" ? `\u200e${slice.status}\u200e` : slice.status === "unchanged" ? "no metal" : slice.status;
      const told = this.about.kind === "evaluation" ? `${slice.metal_pixels} px` : slice.mean_change_hu ? `${slice.mean_change_hu.toFixed(1)} HU` : "";
      item.append(...[n + 1, text, told].map((part) => make("span", { textContent: part })));
      item.append(make("i", { style: `width:${100 * change(n) / most}%` }));
      item.addEventListener("click", () => this.go(n));
      return item;
    }));
    this.order = order;
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
    this.refresh().catch(complain);
  },

  step(by) {
    if (!this.byChange) { this.go(this.number + by); return; }
    const place = this.order.indexOf(this.number) + by;
    if (place >= 0 && place < this.order.length) this.go(this.order[place]);
  },
};
