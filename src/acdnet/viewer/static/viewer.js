// An open result: linked panes, windows, overlays and profile.

import { layerPath, load, showError } from "./data.js";
import { $, count, formatTime, make, short } from "./dom.js";
import { WINDOWS, input } from "./input.js";
import { ObjectPanel } from "./objects.js";
import { outline, paintError, paintLine } from "./overlay.js";
import { resizePanes } from "./pane.js";
import { drawProfile } from "./profile.js";
import { slices } from "./slices.js";
import { StagePanel } from "./stages.js";
import { fillTables } from "./tables.js";
import { views } from "./views.js";

const DIFFERENCE = [-200, 200];
const FULL_MAP = [0, 1]; // as fractions of the initial white value
const PREFETCH = [1, -1, 2, -2, 3]; // slices loaded in advance, relative to the current one

const PARTS = ["viewer", "views", "windows", "overlays", "help"]; // elements of an open result

const overlayButtons = () => document.querySelectorAll("[data-overlay]");

export class Viewer {
  // `job`: the job that produced the result, on a server with jobs; `open` opens another result.
  constructor(name, about, job, open) {
    this.name = name;
    this.about = about;
    this.view = "side";
    this.number = 0; // requested slice; each pane knows the slice it shows
    this.ranges = { image: WINDOWS.soft[1], difference: DIFFERENCE, map: FULL_MAP };
    this.camera = null; // zoom and position, with the image size they belong to
    this.overlays = { metal: true, expected_error_hu: false, objects: true };
    this.line = null; // of the profile: {from, to}, rows and columns
    this.drawing = false; // while the line is dragged
    this.panes = [];
    this.byChange = false;
    this.rank = -1; // of the last slice reached by its change
    this.flip = false;
    this.share = 0.5; // of the width left of the swipe divider
    this.pointer = null; // last pointer event over an image
    this.wheeled = 0; // wheel pixels not yet used for a slice
    this.space = false; // while the space bar is down
    this.closed = false;
    this.showTitle(job);
    for (const id of PARTS) $(id).hidden = false;
    this.fillWindows();
    this.fillSlices();
    this.objects = new ObjectPanel(this, $("objects"), job, open);
    $("cautions").replaceChildren(...about.cautions.map((text) => make("p", { textContent: text })));
    this.stages = new StagePanel(this, $("stages"));
    fillTables(about.tables ?? []);
    document.querySelector("[data-overlay=expected_error_hu]").hidden = about.kind !== "reduction";
    document.querySelector("[data-view=stages]").classList.toggle("off", Boolean(about.no_stages)); // a click shows the reason
    document.querySelector("[data-view=stages]").title = about.no_stages || "3";
    this.listen();
  }

  // Open the given slice, or the one that changed most.
  async open(number = null) {
    const changed = this.about.slices.map((slice, n) => [slice.mean_change_hu ?? slice.metal_pixels ?? 0, n]);
    this.number = number ?? changed.reduce((best, one) => (one[0] > best[0] ? one : best), changed[0])[1];
    await this.setView("side");
  }

  // Name the open scan in the header and on the browser tab.
  showTitle(job) {
    const title = job ? `Scan ${job.number}, ${count(this.about.slices.length, "slice")}, ${formatTime(job.created)}` : this.about.title;
    $("title").textContent = title;
    document.title = `${title} - ACDNet viewer`;
    $("method").textContent = job ? `Method: ${this.about.title}` : "";
  }

  // panes ---------------------------------------------------------------------------------------------------------

  async setView(view) {
    if (view === "stages" && this.about.no_stages) { showError(new Error(this.about.no_stages)); return; }
    this.view = view;
    for (const button of $("views").children) button.classList.toggle("on", button.dataset.view === view);
    for (const pane of this.panes) pane.remove();
    $("panes").replaceChildren();
    $("panes").classList.toggle("four", view === "side" && this.about.first.length > 3);
    this.stages.hide();
    this.panes = view === "swipe" ? this.makeSwipe() : view === "stages" ? this.stages.makePanes($("panes")) : this.makeSide();
    this.showValues();
    await this.refresh();
    if (this.closed) return;
    resizePanes();
    this.placeCameras();
  }

  // Show the current slice in all panes.
  async refresh() {
    const number = this.number;
    this.markSlice();
    if (this.view === "stages" && !(await this.stages.load(number))) return;
    try {
      await Promise.all(this.panes.map((pane) => pane.show(pane.plan(number), (shown) => this.decorate(shown))));
    } finally {
      if (number === this.number) this.paint();
    }
    if (number === this.number) this.prefetch();
  }

  // Load the overlays of a slice; if that fails, the image is shown without them.
  async loadMaps(number) {
    const marked = this.objects.isIn(number);
    if (!this.about.slices[number].metal_pixels && !marked) return {};
    try {
      const [metal, error, objects] = await Promise.all([
        load(layerPath(this.name, number, "metal"), Uint8Array),
        load(layerPath(this.name, number, "expected_error_hu"), Uint16Array),
        marked ? load(layerPath(this.name, number, "objects"), Uint16Array) : null,
      ]);
      return { metal, expected_error_hu: error, objects };
    } catch (error) {
      if (number === this.number) showError(error);
      return {};
    }
  }

  prefetch() {
    if (this.view === "stages" || this.closed) return;
    for (const next of PREFETCH.map((by) => this.number + by)) {
      if (!(next in this.about.slices)) continue;
      for (const pane of this.panes) load(pane.plan(next).path).catch(() => {}); // with the overlays
    }
  }

  // Set window, camera and overlays of a pane.
  decorate(pane) {
    this.window(pane);
    pane.setCamera(this.camera);
    this.paintPane(pane);
  }

  placeCameras() {
    for (const pane of this.panes) pane.setCamera(this.camera);
    this.paint();
  }

  paintPane(pane) {
    const { shown, maps } = pane;
    pane.draw((context) => {
      if (this.overlays.expected_error_hu && maps.expected_error_hu) paintError(context, pane, maps.expected_error_hu);
      if (this.overlays.metal && maps.metal) outline(context, pane, maps.metal);
      this.objects.paint(context, pane);
      if (this.line) paintLine(context, pane, this.line);
    });
    if (!shown) { pane.marks.textContent = ""; return; }
    const [low, high] = this.rangeOf(shown);
    const times = pane.viewport.getZoom();
    const zoom = Number.isFinite(times) ? `  ${(100 * times).toFixed(0)} %` : ""; // undefined for a pane without size
    const range = shown.unit ? `W ${Math.round(high - low)}  L ${Math.round((low + high) / 2)}` : `${short(low * shown.factor)} to ${short(high * shown.factor)}`;
    pane.marks.textContent = `slice ${shown.number + 1} of ${this.about.slices.length}\n${range}${zoom}${pane.inverted ? "\ninverted" : ""}`;
  }

  paint() {
    for (const pane of this.panes) this.paintPane(pane);
    this.showValues();
    const profile = $("profile");
    if (!this.line || this.closed) profile.hidden = true;
    else if (!this.drawing) profile.hidden = false; // only after the drag: it shrinks the panes, which would move the line
    if (!profile.hidden) drawProfile(profile, this.panes, this.line);
  }

  // windows -------------------------------------------------------------------------------------------------------

  fillWindows() {
    $("windows").replaceChildren(...Object.entries(WINDOWS).map(([name, [label, range, key]]) => {
      const button = make("button", { textContent: label, title: key.toUpperCase() });
      button.dataset.window = name;
      button.addEventListener("click", () => this.setWindow(range));
      return button;
    }));
  }

  rangeOf({ kind, white }) { return kind === "map" ? this.ranges.map.map((part) => part * white) : this.ranges[kind]; }

  // Set the window of all content of the same kind.
  setRange({ kind, white }, range) {
    this.ranges[kind] = kind === "map" ? range.map((value) => value / white) : range;
    this.applyWindows();
  }

  setWindow(range) {
    this.ranges.image = range;
    this.applyWindows();
  }

  window(pane) {
    if (!pane.shown) return;
    pane.flip = this.flip && pane.shown.kind === "image";
    pane.window(this.rangeOf(pane.shown));
  }

  applyWindows() {
    const [low, high] = this.ranges.image;
    for (const button of $("windows").children) {
      const [, known] = WINDOWS[button.dataset.window];
      button.classList.toggle("on", known[0] === low && known[1] === high);
    }
    for (const pane of this.panes) this.window(pane);
    this.paint();
  }

  // mouse and keys ------------------------------------------------------------------------------------------------

  listen() {
    const panes = $("panes");
    this.listening = new AbortController();
    const on = (kind, run, options = {}) => panes.addEventListener(kind, run, { signal: this.listening.signal, ...options });
    on("contextmenu", (event) => event.preventDefault());
    on("wheel", (event) => this.wheel(event), { passive: false });
    on("pointerdown", (event) => this.press(event));
    on("pointermove", (event) => this.hover(event));
    on("pointerleave", () => this.hover(null));
    on("dblclick", () => this.reset());
    $("by-number").onclick = () => { this.byChange = false; this.fillSlices(); };
    $("by-change").onclick = () => { this.byChange = true; this.fillSlices(); };
    for (const button of $("views").children) button.onclick = () => this.setView(button.dataset.view).catch(showError);
    for (const button of overlayButtons()) button.onclick = () => this.toggle(button.dataset.overlay);
    document.onkeydown = (event) => this.key(event);
    document.onkeyup = (event) => { if (event.key === " ") this.space = false; };
    this.watcher = new ResizeObserver(() => {
      panes.classList.toggle("wide", panes.clientWidth > 2.4 * panes.clientHeight); // a single row makes four panes larger
      resizePanes();
      this.placeCameras();
    });
    this.watcher.observe(panes);
    this.toggle("metal", true);
    this.applyWindows();
  }

  toggle(name, on = !this.overlays[name]) {
    this.overlays[name] = on;
    for (const button of overlayButtons()) button.classList.toggle("on", this.overlays[button.dataset.overlay]);
    this.paint();
  }

  reset() {
    this.camera = null;
    this.flip = false;
    this.ranges = { image: WINDOWS.soft[1], difference: DIFFERENCE, map: FULL_MAP };
    this.applyWindows();
    this.placeCameras();
  }

  close() {
    this.closed = true;
    this.watcher.disconnect();
    this.listening.abort();
    for (const pane of this.panes) pane.remove();
    this.panes = [];
    $("panes").replaceChildren();
    this.stages.hide();
    document.onkeydown = document.onkeyup = null;
    $("position").textContent = $("values").textContent = "";
    $("title").textContent = "";
    document.title = "ACDNet viewer";
    for (const id of [...PARTS, "objects", "profile", "tables", "tables-button"]) $(id).hidden = true;
  }
}

Object.assign(Viewer.prototype, input, slices, views);
