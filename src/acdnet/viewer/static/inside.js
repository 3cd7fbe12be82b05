// Inside the network: image and artifact of every stage, the dictionary, the kernels chosen for this slice, the maps.

import { askJson, complain } from "./data.js";
import { Pane } from "./pane.js";

const PATIENCE = 150; // ms
const MAP_STEPS = 10000; // what the peak of a map is sent as
const LEAST_BRIGHT = 0.01; // of the peak

export class Inside {
  constructor(viewer, place) {
    this.viewer = viewer;
    this.place = place;
    this.t = null; // stage, from 1
    this.map = null; // map that the third pane shows instead of the residual
    this.about = null;
    this.number = null; // slice that is shown
  }

  hide() {
    this.place.hidden = true;
    this.number = null;
  }

  base(number) { return `results/${this.viewer.name}/slices/${number}/inside`; }

  makePanes(parent) {
    this.place.hidden = false;
    const make = (k, path, title, isDifference) => {
      const pane = new Pane(parent, `inside${k}`);
      pane.path_of = (number) => `${this.base(number)}/${path()}`;
      pane.isDifference = isDifference;
      pane.head = Object.assign(document.createElement("div"), { className: "label" });
      pane.box.append(pane.head);
      pane.name_of = title;
      return pane;
    };
    const last = () => this.about.stages;
    this.panes = [
      make(0, () => `images/${this.final ? this.about.images - 1 : this.t}/0`,
        () => (this.final ? "final image, cleaned up once more" : `image X after stage ${this.t} of ${last()}`), false),
      make(1, () => `artifacts/${this.t - 1}/0`, () => `artifact A of stage ${this.t}`, true),
      make(2, () => (this.map === null ? `residuals/${this.t - 1}/0` : `maps/${this.t - 1}/${this.map}`),
        () => (this.map === null ? `residual Y - X - A of stage ${this.t}` : `map M${this.map + 1} of stage ${this.t}`), true),
    ];
    const of = (values) => values[this.t - 1][this.map];
    Object.defineProperties(this.panes[2], {
      ownRange: { get: () => (this.map === null ? null : [0, MAP_STEPS * Math.max(LEAST_BRIGHT, of(this.about.map_bright))]) },
      factor: { get: () => (this.map === null ? 1 : of(this.about.map_peaks) / MAP_STEPS) },
      unit: { get: () => (this.map === null ? "HU" : "") },
    });
    return this.panes;
  }

  async load(number) {
    if (number === this.number) { this.update(); return; }
    this.number = null;
    if (!this.viewer.about.slices[number].metal_pixels) throw new Error("this slice has no metal; the network did not see it");
    this.place.textContent = "running the network on this slice ...";
    await new Promise((done) => setTimeout(done, PATIENCE)); // whoever scrolls past does not want it computed
    if (number !== this.viewer.number) return;
    const about = await askJson(`${this.base(number)}/about`, {}, () => number === this.viewer.number);
    if (number !== this.viewer.number) return;
    this.about = about;
    this.number = number;
    this.t = Math.min(this.t ?? about.stages, about.stages);
    this.draw();
  }

  draw() {
    const { about } = this;
    this.slider = Object.assign(document.createElement("input"), { type: "range", min: 1, max: about.stages, value: this.t, id: "stage-slider" });
    this.slider.addEventListener("input", () => { this.t = Number(this.slider.value); this.final = false; this.again(); });
    this.last = Object.assign(document.createElement("button"), { textContent: "final image" });
    this.last.addEventListener("click", () => { this.final = !this.final; this.again(); });
    this.residuals = text("");
    this.stage = part("", this.slider, " ", this.last, this.residuals, text("each stage updates K, M and X once (Eqs. 10, 12, 14)"));
    this.buttons = about.kernels[0].map((_, n) => this.button(n));
    this.weights = document.createElement("div");
    this.place.replaceChildren(
      this.stage,
      part("Kernels D * K of this slice", row(this.buttons, 3), text("press one to see its map M: where it lies")),
      part("Dictionary D, common to all scans", row(about.dictionary.map((kernel) => picture(kernel, 24)), 8)),
      part("Weights K of this slice", this.weights, text("a row for each kernel, a column for each filter of D")),
    );
    this.update();
  }

  // What changes with the stage; the slider stays, and with it the hand that moves it.
  update() {
    const { about, t } = this;
    for (const pane of this.panes) { pane.title = pane.name_of(); pane.head.textContent = pane.title; }
    this.stage.firstChild.textContent = `Stage ${t} of ${about.stages}`;
    this.last.classList.toggle("on", Boolean(this.final));
    const told = about.residual_hu.map((hu, n) => `${n + 1 === t ? "▸" : ""}${hu.toFixed(1)}`).join("  ");
    this.residuals.textContent = `root mean square of the residual by stage, HU: ${told}`;
    this.buttons.forEach((button, n) => {
      button.classList.toggle("on", this.map === n);
      button.firstChild.replaceWith(picture(about.kernels[t - 1][n], 40));
    });
    this.weights.replaceChildren(weights(about.weights[t - 1]));
  }

  button(n) {
    const button = Object.assign(document.createElement("button"), { title: `show map ${n + 1}` });
    button.append(document.createElement("canvas"), Object.assign(document.createElement("span"), { textContent: `M${n + 1}` }));
    button.addEventListener("click", () => { this.map = this.map === n ? null : n; this.again(); });
    return button;
  }

  again() {
    this.update();
    this.viewer.refresh().catch(complain);
  }
}

function part(title, ...content) {
  const box = document.createElement("div");
  box.append(Object.assign(document.createElement("h3"), { textContent: title }), ...content);
  return box;
}

const text = (words) => Object.assign(document.createElement("p"), { textContent: words });

function row(items, across) {
  const box = Object.assign(document.createElement("div"), { className: "maps" });
  box.style.setProperty("--across", across);
  box.append(...items);
  return box;
}

// A small picture of a kernel, from its least to its largest value.
function picture(kernel, side) {
  const rows = kernel.length, columns = kernel[0].length;
  const all = kernel.flat(), low = Math.min(...all), span = Math.max(...all) - low || 1;
  const canvas = Object.assign(document.createElement("canvas"), { width: columns, height: rows });
  canvas.style.width = canvas.style.height = `${side}px`;
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  all.forEach((value, n) => {
    const grey = 255 * (value - low) / span;
    image.data.set([grey, grey, grey, 255], 4 * n);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

// K as a table of squares: a row for each kernel, a column for each filter of D.
function weights(K) {
  const most = Math.max(...K.flat(), 1e-9);
  return picture2(K.map((line) => line.map((value) => value / most)), 6);
}

function picture2(values, side) {
  const canvas = picture(values, 1);
  canvas.style.width = `${values[0].length * side}px`;
  canvas.style.height = `${values.length * side * 2}px`;
  return canvas;
}
