// Layouts: side by side, or swipe (two images with a movable divider). These are methods of the viewer.

import { showError, layerPath } from "./data.js";
import { $, make } from "./dom.js";
import { Pane, content } from "./pane.js";

const MIN_SHARE = 0.02; // of the width that always remains on either side of the divider

export const views = {
  // The content of a pane for a layer.
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
      choice.addEventListener("change", () => { choice.blur(); this.refresh().catch(showError); });
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
    const moveBar = (share) => {
      this.share = Math.min(1 - MIN_SHARE, Math.max(MIN_SHARE, share));
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
      moveBar((event.clientX - edge.left) / edge.width);
    });
    moveBar(this.share);
    return panes;
  },
};
