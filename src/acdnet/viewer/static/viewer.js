// A result on the screen: slices, panes that move together, windows, overlays, profile.

import { askJson, complain, layerPath, load } from "./data.js";
import { WINDOWS, input } from "./input.js";
import { Inside } from "./inside.js";
import { drawProfile, outline, paintDoubt, paintLine } from "./overlay.js";
import { Pane, resizePanes } from "./pane.js";
import { slices } from "./slices.js";
import { fillTables } from "./tables.js";

const DIFFERENCE = [-200, 200];
const $ = (id) => document.getElementById(id);

export class Viewer {
  constructor(name, about) {
    this.name = name;
    this.about = about;
    this.view = "side";
    this.number = 0;
    this.range = WINDOWS.soft[1];
    this.differenceRange = DIFFERENCE;
    this.overlays = { metal: true, doubt: false };
    this.line = null;
    this.panes = [];
    this.maps = {};
    this.byChange = false;
    this.flip = false;
    $("title").textContent = about.title;
    for (const id of ["viewer", "views", "windows", "overlays"]) $(id).hidden = false;
    this.fillWindows();
    this.fillSlices();
    $("cautions").replaceChildren(...about.cautions.map((text) => Object.assign(document.createElement("p"), { textContent: text })));
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

  // panes ---------------------------------------------------------------------------------------------------------

  layer(name) { return this.about.layers.find((layer) => layer.name === name); }

  async setView(view) {
    if (view === "inside" && this.about.no_stages) { complain(new Error(this.about.no_stages)); return; }
    this.view = view;
    for (const button of $("views").children) button.classList.toggle("on", button.dataset.view === view);
    $("place").textContent = $("values").textContent = "";
    const camera = this.panes[0]?.shown && this.panes[0].touched ? this.panes[0].camera() : null; // where one has zoomed to
    for (const pane of this.panes) pane.remove();
    this.panes = [];
    $("panes").replaceChildren();
    $("panes").classList.toggle("four", view === "side" && this.about.first.length > 3);
    this.inside.hide();
    if (view === "swipe") this.makeSwipe();
    else if (view === "inside") this.panes = this.inside.makePanes($("panes"));
    else this.makeSide();
    await this.refresh();
    resizePanes();
    for (const pane of this.panes) { pane.reset(); if (camera) pane.look(camera); }
    this.paint();
  }

  makeSide() {
    this.about.first.forEach((name, k) => {
      const pane = new Pane($("panes"), `pane${k}`);
      pane.layer = name;
      const choice = document.createElement("select");
      choice.append(...this.about.layers.map((layer) => new Option(layer.label, layer.name)));
      choice.value = name;
      choice.addEventListener("change", () => { pane.layer = choice.value; this.refresh().catch(complain); });
      pane.box.append(choice);
      this.panes.push(pane);
    });
  }

  makeSwipe() {
    const box = document.createElement("div");
    box.className = "pane";
    $("panes").append(box);
    this.panes = this.about.swipe.map((name, k) => {
      const pane = new Pane(box, `swipe${k}`);
      Object.assign(pane.box.style, { position: "absolute", inset: "0" });
      pane.layer = name;
      const label = document.createElement("div");
      label.className = k ? "label right" : "label";
      label.textContent = this.layer(name).label;
      pane.box.append(label);
      return pane;
    });
    const bar = document.createElement("div");
    bar.className = "bar";
    bar.id = "swipe-bar";
    box.append(bar);
    const place = (share) => {
      this.share = Math.min(0.98, Math.max(0.02, share));
      bar.style.left = `${100 * this.share}%`;
      this.panes[1].box.style.clipPath = `inset(0 0 0 ${100 * this.share}%)`;
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
    place(this.share ?? 0.5);
  }

  isDifference(pane) { return Boolean(pane.ownRange || this.layer(pane.layer)?.is_difference || pane.isDifference); }

  rangeOf(pane) { return pane.ownRange ?? (this.isDifference(pane) ? this.differenceRange : this.range); }

  // Show the current slice everywhere.
  async refresh() {
    const number = this.number;
    this.markSlice();
    this.maps = {};
    if (this.view === "inside") {
      try {
        await this.inside.load(number);
      } catch (error) {
        if (number === this.number) for (const pane of this.panes) pane.blank();
        throw error;
      }
    }
    if (number !== this.number) return;
    await Promise.all(this.panes.map((pane) => {
      pane.label = pane.title ?? this.layer(pane.layer).label;
      pane.range = this.rangeOf(pane);
      pane.flip = this.flip && !this.isDifference(pane);
      return pane.show(pane.path_of ? pane.path_of(number) : layerPath(this.name, number, pane.layer));
    }));
    if (number !== this.number) return;
    const about = this.about.slices[number];
    if (about.metal_pixels) {
      const [metal, doubt] = await Promise.all([
        load(layerPath(this.name, number, "metal"), Uint8Array),
        load(layerPath(this.name, number, "doubt"), Uint16Array),
      ]);
      if (number !== this.number) return;
      this.maps = { metal, doubt };
    }
    this.paint();
    this.ahead(number);
  }

  ahead(number) {
    if (this.view === "inside") return;
    for (const next of [number + 1, number - 1, number + 2, number - 2, number + 3]) {
      if (next < 0 || next >= this.about.slices.length) continue;
      for (const pane of this.panes) load(layerPath(this.name, next, pane.layer)).catch(() => {});
    }
  }

  paint() {
    for (const pane of this.panes) {
      pane.draw((context) => {
        if (this.overlays.doubt && this.maps.doubt) paintDoubt(context, pane, this.maps.doubt);
        if (this.overlays.metal && this.maps.metal) outline(context, pane, this.maps.metal);
        if (this.line) paintLine(context, pane, this.line);
      });
      const [low, high] = this.rangeOf(pane);
      const zoom = (100 * pane.viewport.getZoom()).toFixed(0);
      const window_ = pane.ownRange ? `0 to ${(high * pane.factor).toPrecision(3)}` : `W ${Math.round(high - low)}  L ${Math.round((low + high) / 2)}`;
      pane.marks.textContent = `slice ${this.number + 1} of ${this.about.slices.length}\n${window_}  ${zoom} %${pane.inverted ? "\ninverted" : ""}`;
    }
    $("profile").hidden = !this.line;
    if (this.line) drawProfile($("profile"), this.panes, this.line);
  }

  // slices --------------------------------------------------------------------------------------------------------

  fillWindows() {
    $("windows").replaceChildren(...Object.entries(WINDOWS).map(([name, [label, range, key]]) => {
      const button = Object.assign(document.createElement("button"), { textContent: label, title: key.toUpperCase() });
      button.dataset.window = name;
      button.addEventListener("click", () => this.setWindow(range));
      return button;
    }));
  }

  setWindow(range, difference = null) {
    this.range = range;
    if (difference) this.differenceRange = difference;
    for (const button of $("windows").children) {
      const [, known] = WINDOWS[button.dataset.window];
      button.classList.toggle("on", known[0] === range[0] && known[1] === range[1]);
    }
    for (const pane of this.panes) {
      pane.flip = this.flip && !this.isDifference(pane);
      pane.window(this.rangeOf(pane));
    }
    this.paint();
  }

  // mouse and keys ------------------------------------------------------------------------------------------------

  listen() {
    const panes = $("panes");
    panes.addEventListener("contextmenu", (event) => event.preventDefault());
    panes.addEventListener("wheel", (event) => { event.preventDefault(); this.step(Math.sign(event.deltaY)); }, { passive: false });
    panes.addEventListener("pointerdown", (event) => this.press(event));
    panes.addEventListener("pointermove", (event) => this.hover(event));
    panes.addEventListener("dblclick", () => this.reset());
    $("by-number").onclick = () => { this.byChange = false; this.fillSlices(); };
    $("by-change").onclick = () => { this.byChange = true; this.fillSlices(); };
    for (const button of $("views").children) button.onclick = () => this.setView(button.dataset.view).catch(complain);
    for (const button of $("overlays").children) button.onclick = () => this.toggle(button.dataset.overlay);
    document.onkeydown = (event) => this.key(event);
    document.onkeyup = (event) => { if (event.key === " ") this.space = false; };
    this.watcher = new ResizeObserver(() => {
      panes.classList.toggle("wide", panes.clientWidth > 2.4 * panes.clientHeight); // four panes side by side are larger there
      resizePanes();
      this.paint();
    });
    this.watcher.observe(panes);
    this.toggle("metal", true);
    this.setWindow(this.range);
  }

  toggle(name, on = !this.overlays[name]) {
    this.overlays[name] = on;
    for (const button of $("overlays").children) button.classList.toggle("on", this.overlays[button.dataset.overlay]);
    this.paint();
  }

  reset() {
    for (const pane of this.panes) { pane.reset(); pane.touched = false; }
    this.flip = false;
    this.setWindow(WINDOWS.soft[1], DIFFERENCE);
  }

  close() {
    this.watcher.disconnect();
    for (const pane of this.panes) pane.remove();
    this.panes = [];
    this.inside.hide();
    document.onkeydown = null;
    const panes = $("panes");
    panes.replaceWith(panes.cloneNode(false));
    for (const id of ["viewer", "views", "windows", "overlays", "profile", "tables", "tables-button"]) $(id).hidden = true;
  }
}

Object.assign(Viewer.prototype, input, slices);

export async function openResult(name) {
  const viewer = new Viewer(name, await askJson(`results/${name}`));
  await viewer.open();
  return viewer;
}
