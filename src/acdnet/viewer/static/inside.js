// Inside the network: image and artifact of every stage, the dictionary, the kernels chosen for this slice, the maps.

import { askJson, complain } from "./data.js";
import { make } from "./dom.js";
import { Pane, content } from "./pane.js";

const PATIENCE = 150; // ms
const MAP_STEPS = 10000; // what the peak of a map is sent as
const METAL_LEFT_OUT = "before the metal is put back";
const LEAST_BRIGHT = 0.01; // of the peak

export class Inside {
  constructor(viewer, place) {
    this.viewer = viewer;
    this.place = place;
    this.t = null; // stage, from 1
    this.map = null; // map that the third pane shows instead of the residual
    this.final = false; // whether the first pane shows the final image instead of that of the stage
    this.about = null;
    this.number = null; // slice that is shown
  }

  hide() {
    this.place.hidden = true;
    this.place.style.minHeight = "";
    this.number = null;
  }

  base(number) { return `results/${this.viewer.name}/slices/${number}/inside`; }

  makePanes(parent) {
    this.place.hidden = false;
    return [() => this.imagePlan(), () => this.artifactPlan(), () => this.lastPlan()].map((plan, k) => {
      const pane = new Pane(parent, `inside${k}`, (number) => {
        const { path, ...rest } = plan();
        return content({ number, path: `${this.base(number)}/${path}`, maps: this.viewer.loadMaps(number), ...rest });
      });
      pane.addHead();
      return pane;
    });
  }

  // What the three panes show; stages are counted from 1, the server's images from the one before the first stage.
  imagePlan() {
    if (this.final) return { path: `images/${this.about.images - 1}/0`, label: `final image, ${METAL_LEFT_OUT}` };
    return { path: `images/${this.t}/0`, label: `X after stage ${this.t} of ${this.about.stages}, ${METAL_LEFT_OUT}` };
  }

  artifactPlan() {
    return { path: `artifacts/${this.t - 1}/0`, label: `artifact A of stage ${this.t}`, kind: "difference" };
  }

  lastPlan() {
    const { t, map, about } = this;
    if (map === null) return { path: `residuals/${t - 1}/0`, label: `residual Y - X - A of stage ${t}`, kind: "difference" };
    return {
      path: `maps/${t - 1}/${map}`, label: `map M${map + 1} of stage ${t}`, kind: "map", unit: "",
      white: MAP_STEPS * Math.max(LEAST_BRIGHT, about.map_bright[t - 1][map]), factor: about.map_peaks[t - 1][map] / MAP_STEPS,
    };
  }

  // Get the stages of a slice; true if they are there and still wanted. Until then, and where there are none, the panes are
  // empty and the panel says why.
  async load(number) {
    if (number === this.number) { this.update(); return true; }
    this.number = null;
    for (const pane of this.viewer.panes) pane.blank();
    this.viewer.paint();
    const wanted = () => this.viewer.view === "inside" && number === this.viewer.number && !this.viewer.closed;
    const { metal_pixels: metal } = this.viewer.about.slices[number];
    if (!metal) { this.say(`Slice ${number + 1} has no metal; the network did not see it.`); return false; }
    this.say("running the network on this slice ...");
    await new Promise((done) => setTimeout(done, PATIENCE)); // whoever scrolls past does not want it computed
    if (!wanted()) return false;
    try {
      const about = await askJson(`${this.base(number)}/about`, {}, wanted);
      if (!wanted()) return false;
      this.about = about;
    } catch (error) {
      if (wanted()) this.say(error.message);
      if (error.lasts) complain(error);
      return false;
    }
    this.number = number;
    this.t = Math.min(this.t ?? this.about.stages, this.about.stages);
    this.draw();
    return true;
  }

  say(words) {
    this.place.style.minHeight = `${this.place.getBoundingClientRect().height}px`; // the panes above do not jump
    this.place.replaceChildren(make("p", { className: "reason", textContent: words }));
  }

  draw() {
    const { about } = this;
    this.place.style.minHeight = "";
    this.slider = make("input", { type: "range", min: 1, max: about.stages, value: this.t, id: "stage-slider" });
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.slider.addEventListener("change", () => this.slider.blur()); // the arrow keys are for slices
    this.last = make("button", { textContent: "final image", title: "the image of the last stage, cleaned up once more, with what the model gives back" });
    this.last.addEventListener("click", () => { this.final = !this.final; this.again(); });
    this.residuals = text("");
    this.stage = part("", this.slider, " ", this.last, this.residuals, text("each stage updates K, M and X once (Eqs. 10, 12, 14)"));
    this.buttons = about.kernels[0].map((_, n) => this.button(n));
    this.weights = make("div");
    this.place.replaceChildren(
      this.stage,
      part("Kernels D * K of this slice", row(this.buttons, 3), text("press one to see its map M: where it lies")),
      part("Dictionary D, common to all scans", row(about.dictionary.map((kernel) => picture(kernel, 24, 24)), 8)),
      part("Weights K of this slice", this.weights, text("a row for each kernel, a column for each filter of D")),
    );
    this.update();
  }

  // What changes with the stage; the slider stays, and with it the hand that moves it.
  update() {
    const { about, t } = this;
    this.stage.firstChild.textContent = `Stage ${t} of ${about.stages}`;
    this.last.classList.toggle("on", this.final);
    const told = about.residual_hu.map((hu, n) => `${n + 1 === t ? "▸" : ""}${hu.toFixed(1)}`).join("  ");
    this.residuals.textContent = `root mean square of the residual by stage, HU: ${told}`;
    this.buttons.forEach((button, n) => {
      button.classList.toggle("on", this.map === n);
      button.firstChild.replaceWith(picture(about.kernels[t - 1][n], 40, 40));
    });
    const K = about.weights[t - 1];
    this.weights.replaceChildren(picture(K, 6 * K[0].length, 12 * K.length));
  }

  button(n) {
    const button = make("button", { title: `show map ${n + 1}` }, make("canvas"), make("span", { textContent: `M${n + 1}` }));
    button.addEventListener("click", () => { this.map = this.map === n ? null : n; this.again(); });
    return button;
  }

  go(t) {
    this.t = t;
    this.final = false;
    this.again();
  }

  // Go on by a stage, if stages are shown.
  turn(by) {
    if (this.number === null) return;
    this.slider.value = this.t + by;
    this.go(Number(this.slider.value));
  }

  again() { this.viewer.refresh().catch(complain); }
}

const part = (title, ...inner) => make("div", {}, make("h3", { textContent: title }), ...inner);

const text = (words) => make("p", { textContent: words });

function row(items, across) {
  const box = make("div", { className: "maps" }, ...items);
  box.style.setProperty("--across", across);
  return box;
}

// A table of numbers (a kernel, the weights K) as squares, from its least to its largest value.
function picture(table, width, height) {
  const rows = table.length, columns = table[0].length;
  const all = table.flat(), low = Math.min(...all), span = Math.max(...all) - low || 1;
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
