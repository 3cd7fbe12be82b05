// The network stages: image and artifact of every stage, the dictionary, and the kernels and maps of this slice.

import { requestJson, showError } from "./data.js";
import { make } from "./dom.js";
import { Pane, content } from "./pane.js";

const SETTLE_TIME = 150; // ms
const MAP_STEPS = 10000; // stored value of the peak of a map
const WITHOUT_METAL = "before the metal is restored";
const MIN_WHITE = 0.01; // of the peak

export class StagePanel {
  constructor(viewer, box) {
    this.viewer = viewer;
    this.box = box;
    this.t = null; // stage, from 1
    this.map = null; // map shown in the third pane instead of the residual
    this.final = false; // whether the first pane shows the final image instead of that of the stage
    this.about = null;
    this.number = null; // current slice
  }

  hide() {
    this.box.hidden = true;
    this.box.style.minHeight = "";
    this.number = null;
  }

  base(number) { return `results/${this.viewer.name}/slices/${number}/stages`; }

  makePanes(parent) {
    this.box.hidden = false;
    return [() => this.imagePlan(), () => this.artifactPlan(), () => this.lastPlan()].map((plan, k) => {
      const pane = new Pane(parent, `stages${k}`, (number) => {
        const { path, ...rest } = plan();
        return content({ number, path: `${this.base(number)}/${path}`, maps: this.viewer.loadMaps(number), ...rest });
      });
      pane.addHead();
      return pane;
    });
  }

  // The content of the three panes. Stages count from 1; image 0 on the server is the one before the first stage.
  imagePlan() {
    if (this.final) return { path: `images/${this.about.images - 1}/0`, label: `final image, ${WITHOUT_METAL}` };
    return { path: `images/${this.t}/0`, label: `X after stage ${this.t} of ${this.about.stages}, ${WITHOUT_METAL}` };
  }

  artifactPlan() {
    return { path: `artifacts/${this.t - 1}/0`, label: `artifact A of stage ${this.t}`, kind: "difference" };
  }

  lastPlan() {
    const { t, map, about } = this;
    if (map === null) return { path: `residuals/${t - 1}/0`, label: `residual Y - X - A of stage ${t}`, kind: "difference" };
    return {
      path: `maps/${t - 1}/${map}`, label: `map M${map + 1} of stage ${t}`, kind: "map", unit: "",
      white: MAP_STEPS * Math.max(MIN_WHITE, about.map_white[t - 1][map]), factor: about.map_peaks[t - 1][map] / MAP_STEPS,
    };
  }

  // Load the stages of a slice; return true if they arrived and are still wanted. Until then the panes are empty; if a
  // slice has no stages, the panel says why.
  async load(number) {
    if (number === this.number) { this.update(); return true; }
    this.number = null;
    for (const pane of this.viewer.panes) pane.blank();
    this.viewer.paint();
    const wanted = () => this.viewer.view === "stages" && number === this.viewer.number && !this.viewer.closed;
    const { metal_pixels: metal } = this.viewer.about.slices[number];
    if (!metal) { this.showText(`Slice ${number + 1} has no metal, so the network did not process it.`); return false; }
    this.showText("Running the network on this slice ...");
    await new Promise((done) => setTimeout(done, SETTLE_TIME)); // do not compute slices that are only scrolled past
    if (!wanted()) return false;
    try {
      const about = await requestJson(`${this.base(number)}/about`, {}, wanted);
      if (!wanted()) return false;
      this.about = about;
    } catch (error) {
      if (wanted()) this.showText(error.message);
      if (error.permanent) showError(error);
      return false;
    }
    this.number = number;
    this.t = Math.min(this.t ?? this.about.stages, this.about.stages);
    this.draw();
    return true;
  }

  showText(words) {
    this.box.style.minHeight = `${this.box.getBoundingClientRect().height}px`; // the panes above keep their size
    this.box.replaceChildren(make("p", { className: "reason", textContent: words }));
  }

  draw() {
    const { about } = this;
    this.box.style.minHeight = "";
    this.slider = make("input", { type: "range", min: 1, max: about.stages, value: this.t, id: "stage-slider" });
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.slider.addEventListener("change", () => this.slider.blur()); // the arrow keys change slices
    this.last = make("button", { textContent: "Final image", title: "the image after the last refinement and the trace correction of the model" });
    this.last.addEventListener("click", () => { this.final = !this.final; this.refresh(); });
    this.residuals = text("");
    this.stage = part("", this.slider, " ", this.last, this.residuals, text("Each stage updates K, M and X once (Eqs. 10, 12, 14)."));
    this.buttons = about.kernels[0].map((_, n) => this.button(n));
    this.weights = make("div");
    this.box.replaceChildren(
      this.stage,
      part("Kernels D * K of this slice", row(this.buttons, 3), text("Select a kernel to see its map M.")),
      part("Dictionary D, shared by all scans", row(about.dictionary.map((kernel) => picture(kernel, 24, 24)), 8)),
      part("Weights K of this slice", this.weights, text("One row per kernel, one column per filter of D.")),
    );
    this.update();
  }

  // Update what depends on the stage; the slider itself stays, so that a drag continues.
  update() {
    const { about, t } = this;
    this.stage.firstChild.textContent = `Stage ${t} of ${about.stages}`;
    this.last.classList.toggle("on", this.final);
    const values = about.residual_hu.map((hu, n) => `${n + 1 === t ? "▸" : ""}${hu.toFixed(1)}`).join("  ");
    this.residuals.textContent = `RMS residual by stage, HU: ${values}`;
    this.buttons.forEach((button, n) => {
      button.classList.toggle("on", this.map === n);
      button.firstChild.replaceWith(picture(about.kernels[t - 1][n], 40, 40));
    });
    const K = about.weights[t - 1];
    this.weights.replaceChildren(picture(K, 6 * K[0].length, 12 * K.length));
  }

  button(n) {
    const button = make("button", { title: `Show map ${n + 1}` }, make("canvas"), make("span", { textContent: `M${n + 1}` }));
    button.addEventListener("click", () => { this.map = this.map === n ? null : n; this.refresh(); });
    return button;
  }

  go(t) {
    this.t = t;
    this.final = false;
    this.refresh();
  }

  // Go to the next or previous stage, if stages are shown.
  step(by) {
    if (this.number === null) return;
    this.slider.value = this.t + by;
    this.go(Number(this.slider.value));
  }

  refresh() { this.viewer.refresh().catch(showError); }
}

const part = (title, ...inner) => make("div", {}, make("h3", { textContent: title }), ...inner);

const text = (words) => make("p", { textContent: words });

function row(items, across) {
  const box = make("div", { className: "maps" }, ...items);
  box.style.setProperty("--across", across);
  return box;
}

// Draw a matrix (a kernel, the weights K) as grey squares scaled from its minimum to its maximum.
function picture(matrix, width, height) {
  const rows = matrix.length, columns = matrix[0].length;
  const all = matrix.flat(), low = Math.min(...all), span = Math.max(...all) - low || 1;
  const canvas = make("canvas", { width: columns, height: rows });
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  all.forEach((value, n) => {
    const grey = 255 * (value - low) / span;
    image.data.set([grey, grey, grey, 255], 4 * n);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}
