// A result on the screen: slices, panes that move together, windows, overlays, profile.

import { complain, layerPath, load } from "./data.js";
import { $, count, make, short, when } from "./dom.js";
import { WINDOWS, input } from "./input.js";
import { Inside } from "./inside.js";
import { outline, paintDoubt, paintLine } from "./overlay.js";
import { resizePanes } from "./pane.js";
import { drawProfile } from "./profile.js";
import { slices } from "./slices.js";
import { fillTables } from "./tables.js";
import { views } from "./views.js";

const DIFFERENCE = [-200, 200];
const WHOLE_MAP = [0, 1]; // in parts of what is white at first
const AHEAD = [1, -1, 2, -2, 3]; // slices that are loaded before they are asked for, from the one that is shown

const SHOWN = ["viewer", "views", "windows", "overlays", "help"]; // what belongs to an open result

export class Viewer {
  // `job`: the job that made the result, if this server has it.
  constructor(name, about, job = null) {
    this.name = name;
    this.about = about;
    this.view = "side";
    this.number = 0; // slice that is wanted; each pane knows what it shows
    this.ranges = { image: WINDOWS.soft[1], difference: DIFFERENCE, map: WHOLE_MAP };
    this.camera = null; // where one has zoomed to, and in an image of which size
    this.overlays = { metal: true, doubt: false };
    this.line = null; // of a profile: {from, to}, rows and columns
    this.drawing = false; // whether it is being drawn
    this.panes = [];
    this.byChange = false;
    this.rank = -1; // of the slice to which one went last because it had changed
    this.flip = false;
    this.share = 0.5; // of the width, left of the bar of a swipe
    this.pointer = null; // where the pointer was last over a picture
    this.wheeled = 0; // pixels of the wheel that were not a whole slice yet
    this.space = false; // whether the key is down
    this.closed = false;
    this.tellTitle(job);
    for (const id of SHOWN) $(id).hidden = false;
    this.fillWindows();
    this.fillSlices();
    $("cautions").replaceChildren(...about.cautions.map((text) => make("p", { textContent: text })));
    this.inside = new Inside(this, $("inside"));
    fillTables(about.tables ?? []);
    document.querySelector("[data-overlay=doubt]").hidden = about.kind !== "reduction";
    document.querySelector("[data-view=inside]").classList.toggle("off", Boolean(about.no_stages)); // pressed, it says why
    document.querySelector("[data-view=inside]").title = about.no_stages || "3";
    this.listen();
  }

  async open() {
    const changed = this.about.slices.map((slice, n) => [slice.mean_change_hu ?? slice.metal_pixels ?? 0, n]);
    this.number = changed.reduce((best, one) => (one[0] > best[0] ? one : best), changed[0])[1];
    await this.setView("side");
  }

  // Say in the header and on the tab which scan is open.
  tellTitle(job) {
    const told = job ? `Scan ${job.number}, ${count(this.about.slices.length, "slice")}, ${when(job.created)}` : this.about.title;
    $("title").textContent = told;
    document.title = `${told} - ACDNet viewer`;
    $("method").textContent = job ? `made by ${this.about.title}` : "";
  }

  // panes ---------------------------------------------------------------------------------------------------------

  async setView(view) {
    if (view === "inside" && this.about.no_stages) { complain(new Error(this.about.no_stages)); return; }
    this.view = view;
    for (const button of $("views").children) button.classList.toggle("on", button.dataset.view === view);
    for (const pane of this.panes) pane.remove();
    $("panes").replaceChildren();
    $("panes").classList.toggle("four", view === "side" && this.about.first.length > 3);
    this.inside.hide();
    this.panes = view === "swipe" ? this.makeSwipe() : view === "inside" ? this.inside.makePanes($("panes")) : this.makeSide();
    this.tellValues();
    await this.refresh();
    if (this.closed) return;
    resizePanes();
    this.placeCameras();
  }

  // Show the current slice everywhere.
  async refresh() {
    const number = this.number;
    this.markSlice();
    if (this.view === "inside" && !(await this.inside.load(number))) return;
    try {
      await Promise.all(this.panes.map((pane) => pane.show(pane.plan(number), (shown) => this.dress(shown))));
    } finally {
      if (number === this.number) this.paint();
    }
    if (number === this.number) this.ahead();
  }

  // What can be laid over a slice. A picture is shown without it rather than not at all.
  async loadMaps(number) {
    if (!this.about.slices[number].metal_pixels) return {};
    try {
      const [metal, doubt] = await Promise.all([
        load(layerPath(this.name, number, "metal"), Uint8Array),
        load(layerPath(this.name, number, "doubt"), Uint16Array),
      ]);
      return { metal, doubt };
    } catch (error) {
      if (number === this.number) complain(error);
      return {};
    }
  }

  ahead() {
    if (this.view === "inside" || this.closed) return;
    for (const next of AHEAD.map((by) => this.number + by)) {
      if (!(next in this.about.slices)) continue;
      for (const pane of this.panes) load(pane.plan(next).path).catch(() => {}); // with its maps
    }
  }

  // Window, camera and overlays for what a pane shows now.
  dress(pane) {
    this.window(pane);
    pane.look(this.camera);
    this.paintPane(pane);
  }

  placeCameras() {
    for (const pane of this.panes) pane.look(this.camera);
    this.paint();
  }

  paintPane(pane) {
    const { shown, maps } = pane;
    pane.draw((context) => {
      if (this.overlays.doubt && maps.doubt) paintDoubt(context, pane, maps.doubt);
      if (this.overlays.metal && maps.metal) outline(context, pane, maps.metal);
      if (this.line) paintLine(context, pane, this.line);
    });
    if (!shown) { pane.marks.textContent = ""; return; }
    const [low, high] = this.rangeOf(shown);
    const times = pane.viewport.getZoom();
    const zoom = Number.isFinite(times) ? `  ${(100 * times).toFixed(0)} %` : ""; // a pane without size has none
    const told = shown.unit ? `W ${Math.round(high - low)}  L ${Math.round((low + high) / 2)}` : `${short(low * shown.factor)} to ${short(high * shown.factor)}`;
    pane.marks.textContent = `slice ${shown.number + 1} of ${this.about.slices.length}\n${told}${zoom}${pane.inverted ? "\ninverted" : ""}`;
  }

  paint() {
    for (const pane of this.panes) this.paintPane(pane);
    this.tellValues();
    const profile = $("profile");
    if (!this.line || this.closed) profile.hidden = true;
    else if (!this.drawing) profile.hidden = false; // not sooner: the panes shrink, and the line would slip from the hand
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

  // Set the window of what is of the same kind as some content.
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
    for (const button of $("views").children) button.onclick = () => this.setView(button.dataset.view).catch(complain);
    for (const button of $("overlays").children) button.onclick = () => this.toggle(button.dataset.overlay);
    document.onkeydown = (event) => this.key(event);
    document.onkeyup = (event) => { if (event.key === " ") this.space = false; };
    this.watcher = new ResizeObserver(() => {
      panes.classList.toggle("wide", panes.clientWidth > 2.4 * panes.clientHeight); // four panes side by side are larger there
      resizePanes();
      this.placeCameras();
    });
    this.watcher.observe(panes);
    this.toggle("metal", true);
    this.applyWindows();
  }

  toggle(name, on = !this.overlays[name]) {
    this.overlays[name] = on;
    for (const button of $("overlays").children) button.classList.toggle("on", this.overlays[button.dataset.overlay]);
    this.paint();
  }

  reset() {
    this.camera = null;
    this.flip = false;
    this.ranges = { image: WINDOWS.soft[1], difference: DIFFERENCE, map: WHOLE_MAP };
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
    this.inside.hide();
    document.onkeydown = document.onkeyup = null;
    $("place").textContent = $("values").textContent = "";
    $("title").textContent = "";
    document.title = "ACDNet viewer";
    for (const id of [...SHOWN, "profile", "tables", "tables-button"]) $(id).hidden = true;
  }
}

Object.assign(Viewer.prototype, input, slices, views);
