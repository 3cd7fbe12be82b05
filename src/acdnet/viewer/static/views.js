// How panes are laid out: side by side, or one over the other with a bar between. These are methods of the viewer.

import { complain, layerPath } from "./data.js";
import { $, make } from "./dom.js";
import { Pane, content } from "./pane.js";

const LEAST_SHARE = 0.02; // of the width that a swipe leaves to either side

export const views = {
  // What a layer is as content of a pane.
  layerContent(number, name) {
    const { label, is_difference: isDifference } = this.about.layers.find((layer) => layer.name === name);
    return content({
      number, label, path: layerPath(this.name, number, name), kind: isDifference ? "difference" : "image", maps: this.loadMaps(number),
    });
  },

  makeSide() {
    return this.about.first.map((name, k) => {
      const choice = make("select", {}, ...this.about.layers.map((layer) => new Option(layer.label, layer.name)));
      choice.value = name;
      const pane = new Pane($("panes"), `pane${k}`, (number) => this.layerContent(number, choice.value));
      choice.addEventListener("change", () => { choice.blur(); this.refresh().catch(complain); });
      pane.box.append(choice);
      return pane;
    });
  },

  makeSwipe() {
    const box = make("div", { className: "pane" });
    $("panes").append(box);
    const panes = this.about.swipe.map((name, k) => {
      const pane = new Pane(box, `swipe${k}`, (number) => this.layerContent(number, name));
      Object.assign(pane.box.style, { position: "absolute", inset: "0" });
      pane.addHead(k ? "label right" : "label");
      return pane;
    });
    const bar = make("div", { className: "bar", id: "swipe-bar" });
    box.append(bar);
    const place = (share) => {
      this.share = Math.min(1 - LEAST_SHARE, Math.max(LEAST_SHARE, share));
      bar.style.left = `${100 * this.share}%`;
      panes[1].box.style.clipPath = `inset(0 0 0 ${100 * this.share}%)`;
    };
    bar.addEventListener("pointerdown", (event) => {
      bar.setPointerCapture(event.pointerId);
      event.stopPropagation();
    });
    bar.addEventListener("pointermove", (event) => {
      if (!bar.hasPointerCapture(event.pointerId)) return;
      const edge = box.getBoundingClientRect();
      place((event.clientX - edge.left) / edge.width);
    });
    place(this.share);
    return panes;
  },
};
