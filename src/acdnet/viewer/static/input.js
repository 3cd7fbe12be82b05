// Mouse and keyboard, following the conventions of radiology viewers. These are methods of the viewer.

import { showError } from "./data.js";
import { $, short } from "./dom.js";

export const WINDOWS = {
  soft: ["Soft tissue", [-160, 240], "s"],
  bone: ["Bone", [-450, 1050], "b"],
  lung: ["Lung", [-1350, 150], "l"],
  wide: ["Wide", [-1000, 3000], "w"],
};
const MIN_WIDTH = 2; // of a window, in image values
const MIN_SCALE = 4, MAX_SCALE = 2000; // half the height of the view, in mm
const CLICK = 3; // pixels that a click may move; farther is a drag
const NOTCH = 50; // wheel pixels per slice: a mouse notch is more, a trackpad sends many small events
const LINE = 20; // pixels per line, for wheels that count lines
const MAX_ZOOM_STEP = 100; // wheel pixels that count in one event

const PRINTABLE = 1; // length of the name of a key that types a character

// Whether a menu is open; a browser that cannot tell counts a focused menu as open.
function isOpen(menu) {
  try { return menu.matches(":open"); } catch { return true; }
}

export const input = {
  paneAt(event) { return this.panes.find((pane) => pane.box.contains(event.target)); },

  press(event) {
    const pane = this.paneAt(event);
    if (event.target.closest("select")) return;
    document.activeElement?.blur(); // otherwise the last used menu or slider would take the keys
    if (!pane?.shown || event.target.closest(".bar")) return;
    event.preventDefault();
    const start = { x: event.clientX, y: event.clientY, camera: pane.getCamera(), range: this.rangeOf(pane.shown), content: pane.shown };
    const kind = event.shiftKey ? "line" : event.button === 2 ? "zoom" : event.button === 1 || this.space ? "pan" : "window";
    if (kind === "line") this.line = { from: pane.pixel(event), to: pane.pixel(event) };
    let clicked = kind === "window"; // until it moves
    const move = (now) => {
      clicked &&= Math.hypot(now.clientX - start.x, now.clientY - start.y) <= CLICK;
      if (!clicked) this.drag(kind, pane, start, now);
    };
    const until = new AbortController();
    const end = (now) => {
      until.abort();
      this.drawing = false;
      if (clicked && now.type === "pointerup") this.objects.click(pane, now);
      this.paint();
    };
    this.drawing = kind === "line";
    document.addEventListener("pointermove", move, until);
    for (const way of ["pointerup", "pointercancel"]) document.addEventListener(way, end, until);
  },

  drag(kind, pane, start, event) {
    const dx = event.clientX - start.x, dy = event.clientY - start.y;
    if (kind === "line") {
      this.line.to = pane.pixel(event);
      this.paint();
    } else if (kind === "window") {
      const [low, high] = start.range;
      const width = Math.max(MIN_WIDTH, (high - low) * Math.exp(dx / 300)), level = (low + high) / 2 + dy * (high - low) / 500;
      this.setRange(start.content, [level - width / 2, level + width / 2]);
    } else if (kind === "zoom") {
      this.zoom(start.camera, Math.exp(dy / 200));
    } else {
      const [x, y, z] = start.camera.focalPoint;
      const [mmX, mmY] = pane.distance(dx, dy);
      this.setCamera({ ...start.camera, focalPoint: [x - mmX, y - mmY, z] });
    }
  },

  setCamera(camera) {
    this.camera = camera;
    this.placeCameras();
  },

  zoom(camera, by) {
    this.setCamera({ ...camera, parallelScale: Math.min(MAX_SCALE, Math.max(MIN_SCALE, camera.parallelScale * by)) });
  },

  // Scroll one slice per mouse notch, or per equivalent trackpad movement; zoom with Ctrl.
  wheel(event) {
    event.preventDefault();
    const by = event.deltaY * (event.deltaMode ? LINE : 1);
    if (event.ctrlKey) {
      const pane = this.panes.find((one) => one.shown);
      if (pane) this.zoom(pane.getCamera(), Math.exp(Math.max(-MAX_ZOOM_STEP, Math.min(MAX_ZOOM_STEP, by)) / 200));
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
    const pane = event && this.paneAt(event);
    if (pane) pane.box.style.cursor = this.objects.find(pane, event) ? "pointer" : "";
    this.showValues();
  },

  // Show the values under the pointer.
  showValues() {
    const pane = this.pointer && this.paneAt(this.pointer);
    const [row, column] = pane?.shown ? pane.pixel(this.pointer) : [-1, -1];
    const values = this.panes.map((one) => [one.shown, one.value(row, column)]).filter(([, value]) => value !== null);
    $("position").textContent = values.length ? `row ${Math.round(row)}, column ${Math.round(column)}` : "";
    $("values").textContent = values.map(([{ label, unit }, value]) => `${label}: ${unit ? `${value} ${unit}` : short(value)}`).join("    ");
  },

  key(event) {
    const menu = event.target.closest("select");
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("dialog") || (menu && isOpen(menu))) return;
    if (event.key === " " && event.target.closest("button, select")) return;
    const key = event.key.toLowerCase();
    const preset = Object.values(WINDOWS).find(([, , letter]) => letter === key);
    const steps = { arrowdown: 1, arrowright: 1, arrowup: -1, arrowleft: -1, pagedown: 10, pageup: -10 };
    const views = { 1: "side", 2: "swipe", 3: "stages" };
    if (preset) this.setWindow(preset[1]);
    else if (key in steps) this.step(steps[key]);
    else if (key in views) this.setView(views[key]).catch(showError);
    else if (key === "home") this.go(0);
    else if (key === "end") this.go(this.about.slices.length - 1);
    else if (key === "m") this.toggle("metal");
    else if (key === "e") this.toggle("expected_error_hu");
    else if (key === "o") this.toggle("objects");
    else if (key === "t") $("tables-button").click();
    else if (key === "i") { this.flip = !this.flip; this.applyWindows(); }
    else if (key === "0") this.reset();
    else if (key === "c") this.nextChanged();
    else if (key === "," || key === ".") this.stages.step(key === "," ? -1 : 1);
    else if (key === "+" || key === "-") {
      const pane = this.panes.find((one) => one.shown);
      if (pane) this.zoom(pane.getCamera(), key === "+" ? 0.8 : 1.25);
    } else if (key === "escape") { this.line = null; this.paint(); }
    else if (key === " ") this.space = true;
    else if (key === "?") $("keys").showModal();
    else if (!menu || key.length > PRINTABLE) return; // a focused menu would select an entry by its first letter
    event.preventDefault();
  },
};
