// Mouse and keys, as radiology viewers have them. These are methods of the viewer.

import { complain } from "./data.js";
import { $, short } from "./dom.js";

export const WINDOWS = {
  soft: ["Soft tissue", [-160, 240], "s"],
  bone: ["Bone", [-450, 1050], "b"],
  lung: ["Lung", [-1350, 150], "l"],
  wide: ["Wide", [-1000, 3000], "w"],
};
const NARROWEST = 2; // window, in numbers of the image
const NEAREST = 4, FARTHEST = 2000; // mm, half the height of a picture
const NOTCH = 50; // pixels of the wheel that are a slice: a notch of a mouse is more, a trackpad tells many small ones
const LINE = 20; // pixels of a line, for wheels that count lines
const MOST_ZOOMED = 100; // pixels of the wheel that count in one event

const PRINTED = 1; // letters that the name of a key has if the key writes something

// Whether a menu is open; browsers that do not say so are taken to have it open while it has the focus.
function isOpen(menu) {
  try { return menu.matches(":open"); } catch { return true; }
}

export const input = {
  paneAt(event) { return this.panes.find((pane) => pane.box.contains(event.target)); },

  press(event) {
    const pane = this.paneAt(event);
    if (event.target.closest("select")) return;
    document.activeElement?.blur(); // a menu or slider that was used would take the keys
    if (!pane?.shown || event.target.closest(".bar")) return;
    event.preventDefault();
    const begin = { x: event.clientX, y: event.clientY, camera: pane.camera(), range: this.rangeOf(pane.shown), content: pane.shown };
    const kind = event.shiftKey ? "line" : event.button === 2 ? "zoom" : event.button === 1 || this.space ? "pan" : "window";
    if (kind === "line") this.line = { from: pane.pixel(event), to: pane.pixel(event) };
    const move = (now) => this.drag(kind, pane, begin, now);
    const until = new AbortController();
    const end = () => { until.abort(); this.drawing = false; this.paint(); };
    this.drawing = kind === "line";
    document.addEventListener("pointermove", move, until);
    for (const way of ["pointerup", "pointercancel"]) document.addEventListener(way, end, until);
  },

  drag(kind, pane, begin, event) {
    const dx = event.clientX - begin.x, dy = event.clientY - begin.y;
    if (kind === "line") {
      this.line.to = pane.pixel(event);
      this.paint();
    } else if (kind === "window") {
      const [low, high] = begin.range;
      const width = Math.max(NARROWEST, (high - low) * Math.exp(dx / 300)), level = (low + high) / 2 + dy * (high - low) / 500;
      this.setRange(begin.content, [level - width / 2, level + width / 2]);
    } else if (kind === "zoom") {
      this.zoom(begin.camera, Math.exp(dy / 200));
    } else {
      const [x, y, z] = begin.camera.focalPoint;
      const [mmX, mmY] = pane.distance(dx, dy);
      this.look({ ...begin.camera, focalPoint: [x - mmX, y - mmY, z] });
    }
  },

  look(camera) {
    this.camera = camera;
    this.placeCameras();
  },

  zoom(camera, by) {
    this.look({ ...camera, parallelScale: Math.min(FARTHEST, Math.max(NEAREST, camera.parallelScale * by)) });
  },

  // Go on by a slice for a notch of a mouse, or for as much of a trackpad's small steps; with ctrl, zoom.
  wheel(event) {
    event.preventDefault();
    const by = event.deltaY * (event.deltaMode ? LINE : 1);
    if (event.ctrlKey) {
      const pane = this.panes.find((one) => one.shown);
      if (pane) this.zoom(pane.camera(), Math.exp(Math.max(-MOST_ZOOMED, Math.min(MOST_ZOOMED, by)) / 200));
      return;
    }
    if (Math.sign(by) !== Math.sign(this.wheeled)) this.wheeled = 0;
    this.wheeled += by;
    if (Math.abs(this.wheeled) < NOTCH) return;
    this.step(Math.sign(by));
    this.wheeled = Math.abs(by) < NOTCH ? this.wheeled - NOTCH * Math.sign(by) : 0;
  },

  hover(event) {
    this.pointer = event;
    this.tellValues();
  },

  // Write the values under the pointer of what is shown now.
  tellValues() {
    const pane = this.pointer && this.paneAt(this.pointer);
    const [row, column] = pane?.shown ? pane.pixel(this.pointer) : [-1, -1];
    const told = this.panes.map((one) => [one.shown, one.value(row, column)]).filter(([, value]) => value !== null);
    $("place").textContent = told.length ? `row ${Math.round(row)}, column ${Math.round(column)}` : "";
    $("values").textContent = told.map(([{ label, unit }, value]) => `${label}: ${unit ? `${value} ${unit}` : short(value)}`).join("    ");
  },

  key(event) {
    const menu = event.target.closest("select");
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("dialog") || (menu && isOpen(menu))) return;
    if (event.key === " " && event.target.closest("button, select")) return;
    const key = event.key.toLowerCase();
    const found = Object.values(WINDOWS).find(([, , letter]) => letter === key);
    const steps = { arrowdown: 1, arrowright: 1, arrowup: -1, arrowleft: -1, pagedown: 10, pageup: -10 };
    const views = { 1: "side", 2: "swipe", 3: "inside" };
    if (found) this.setWindow(found[1]);
    else if (key in steps) this.step(steps[key]);
    else if (key in views) this.setView(views[key]).catch(complain);
    else if (key === "home") this.go(0);
    else if (key === "end") this.go(this.about.slices.length - 1);
    else if (key === "m") this.toggle("metal");
    else if (key === "e") this.toggle("doubt");
    else if (key === "t") $("tables-button").click();
    else if (key === "i") { this.flip = !this.flip; this.applyWindows(); }
    else if (key === "0") this.reset();
    else if (key === "c") this.nextChanged();
    else if (key === "," || key === ".") this.inside.turn(key === "," ? -1 : 1);
    else if (key === "+" || key === "-") {
      const pane = this.panes.find((one) => one.shown);
      if (pane) this.zoom(pane.camera(), key === "+" ? 0.8 : 1.25);
    } else if (key === "escape") { this.line = null; this.paint(); }
    else if (key === " ") this.space = true;
    else if (key === "?") $("keys").showModal();
    else if (!menu || key.length > PRINTED) return; // a menu would choose what begins with that letter
    event.preventDefault();
  },
};
