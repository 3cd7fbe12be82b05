// Mouse and keys, as radiology viewers have them. These are methods of the viewer.

import { complain } from "./data.js";

export const WINDOWS = {
  soft: ["Soft tissue", [-160, 240], "s"],
  bone: ["Bone", [-450, 1050], "b"],
  lung: ["Lung", [-1350, 150], "l"],
  wide: ["Wide", [-1000, 3000], "w"],
};
const $ = (id) => document.getElementById(id);

export const input = {
  paneAt(event) { return this.panes.find((pane) => pane.box.contains(event.target)); },

  press(event) {
    const pane = this.paneAt(event);
    if (!pane || event.target.closest("select, .bar")) return;
    event.preventDefault();
    const begin = { x: event.clientX, y: event.clientY, camera: pane.camera(), range: [...this.rangeOf(pane)] };
    const kind = event.shiftKey ? "line" : event.button === 2 ? "zoom" : event.button === 1 || this.space ? "pan" : "window";
    if (kind === "line") this.line = { from: pane.pixel(event), to: pane.pixel(event) };
    const move = (now) => this.drag(kind, pane, begin, now);
    const end = () => { document.removeEventListener("pointermove", move); document.removeEventListener("pointerup", end); };
    document.addEventListener("pointermove", move);
    document.addEventListener("pointerup", end);
  },

  drag(kind, pane, begin, event) {
    const dx = event.clientX - begin.x, dy = event.clientY - begin.y;
    if (kind === "line") {
      this.line.to = pane.pixel(event);
      this.paint();
    } else if (kind === "window") {
      const [low, high] = begin.range;
      const width = Math.max(2, (high - low) * Math.exp(dx / 300)), level = (low + high) / 2 + dy * (high - low) / 500;
      const range = [level - width / 2, level + width / 2];
      if (this.rangeOf(pane) === this.differenceRange) this.setWindow(this.range, range);
      else this.setWindow(range);
    } else {
      const { focalPoint: [x, y, z], parallelScale } = begin.camera;
      const [mmX, mmY] = pane.distance(dx, dy);
      if (kind === "zoom") this.look({ focalPoint: [x, y, z], parallelScale: Math.min(2000, Math.max(4, parallelScale * Math.exp(dy / 200))) });
      else this.look({ focalPoint: [x - mmX, y - mmY, z], parallelScale });
    }
  },

  look(camera) {
    for (const pane of this.panes) { pane.look(camera); pane.touched = true; }
    this.paint();
  },

  hover(event) {
    const pane = this.paneAt(event);
    if (!pane?.shown) return;
    const [row, column] = pane.pixel(event);
    const told = this.panes.map((one) => [one.label, one.value(row, column), one.unit ?? "HU"]).filter(([, value]) => value !== null);
    const digits = (value, unit) => (unit ? `${value} ${unit}` : value.toPrecision(3));
    $("place").textContent = told.length ? `row ${Math.round(row)}, column ${Math.round(column)}` : "";
    $("values").textContent = told.map(([label, value, unit]) => `${label}: ${digits(value, unit)}`).join("    ");
  },

  key(event) {
    if (event.ctrlKey || event.metaKey || event.target.closest("input, select, dialog")) return;
    if (event.key === " " && event.target.closest("button")) return;
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
    else if (key === "i") { this.flip = !this.flip; this.setWindow(this.range); }
    else if (key === "0") this.reset();
    else if (key === "c") { this.byChange = true; this.fillSlices(); this.step(1); }
    else if (key === "+" || key === "-") {
      const camera = this.panes[0].camera();
      this.look({ ...camera, parallelScale: camera.parallelScale * (key === "+" ? 0.8 : 1.25) });
    } else if (key === "escape") { this.line = null; this.paint(); }
    else if (key === " ") this.space = true;
    else if (key === "?") $("keys").showModal();
    else return;
    event.preventDefault();
  },
};
