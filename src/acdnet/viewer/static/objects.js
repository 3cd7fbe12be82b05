// The objects that may be metal: their outlines, their list, and decisions about them.

import { requestJson, resultName, showError } from "./data.js";
import { $, make } from "./dom.js";
import { outline, styleOf } from "./overlay.js";

const REACH = 3; // pixels of the screen around an outline that belong to the object
const POLL_INTERVAL = 700; // ms
const KEPT = "kept", DROPPED = "dropped";

const isMetal = (decision) => decision === "metal" || decision === KEPT;

export class ObjectPanel {
  // `job`: the job that produced the result, or null; `open(name, job, number)` opens a result at a slice.
  constructor(viewer, box, job, open) {
    Object.assign(this, { viewer, box, job, open });
    this.objects = viewer.about.objects ?? [];
    this.pending = new Map(); // number of an object -> its decision in the next reduction
    this.state = ""; // what the server is doing about it
    this.box.hidden = !this.objects.length;
    this.draw();
    if (job?.again) this.follow().catch(showError).finally(() => this.say(""));
  }

  isIn(number) { return this.objects.some((one) => one.first_slice <= number + 1 && number + 1 <= one.last_slice); }

  decision({ number, decision }) { return this.pending.get(number) ?? decision; }

  // Outlines -------------------------------------------------------------------------------------------------------

  // Metal is drawn with the metal mask, unless the user has decided about it.
  style(number) {
    const one = this.objects[number - 1], pending = this.pending.has(number);
    return one && (pending || !isMetal(one.decision)) ? styleOf(this.decision(one), pending) : null;
  }

  paint(context, pane) {
    if (this.viewer.overlays.objects && pane.maps.objects) outline(context, pane, pane.maps.objects, (number) => this.style(number));
  }

  // The number of the visible object at or near a point of the screen; 0 if there is none.
  find(pane, event) {
    const { overlays } = this.viewer, labels = pane?.maps.objects;
    if (!labels || !overlays.objects) return 0;
    for (const [dx, dy] of [[0, 0], [REACH, 0], [-REACH, 0], [0, REACH], [0, -REACH]]) {
      const [row, column] = pane.pixel({ clientX: event.clientX + dx, clientY: event.clientY + dy }).map(Math.round);
      if (row < 0 || column < 0 || row >= labels.rows || column >= labels.columns) continue;
      const number = labels.values[row * labels.columns + column];
      if (number && (overlays.metal || this.style(number))) return number;
    }
    return 0;
  }

  click(pane, event) {
    const number = this.find(pane, event);
    if (number) this.toggle(number);
  }

  // Decisions ------------------------------------------------------------------------------------------------------

  // Decide the opposite, or take that back.
  toggle(number) {
    if (this.state) return;
    if (!this.pending.delete(number)) this.pending.set(number, isMetal(this.objects[number - 1].decision) ? DROPPED : KEPT);
    this.draw();
    this.viewer.paint();
  }

  // The numbers of the objects about which the user has decided, now or before.
  decided(decision) { return this.objects.filter((one) => this.decision(one) === decision).map(({ number }) => number); }

  async again() {
    const body = JSON.stringify({ keep: this.decided(KEPT), drop: this.decided(DROPPED) });
    this.say("queued");
    try {
      this.job = await requestJson(`jobs/${this.job.id}/again`, { method: "POST", body });
      await this.follow();
    } finally {
      this.say("");
    }
  }

  // Wait for the new result and open it; if there is none, say why.
  async follow() {
    const { id, runs } = this.job;
    for (;;) {
      const job = (await requestJson("jobs")).find((one) => one.id === id);
      if (this.viewer.closed) return;
      if (!job?.again) {
        if (job?.runs > runs) await this.open(resultName(job), job, this.viewer.number);
        else if (job) showError(new Error(job.message));
        return;
      }
      const { what, done, total } = job.progress;
      this.say(job.state === "queued" || !what ? job.state : total ? `${what} ${done} of ${total}` : what);
      await new Promise((done) => setTimeout(done, POLL_INTERVAL));
    }
  }

  say(state) {
    this.state = state;
    if (!this.viewer.closed) this.draw();
  }

  // List -----------------------------------------------------------------------------------------------------------

  draw() {
    this.box.querySelector("ol").replaceChildren(...this.objects.map((one) => this.item(one)));
    $("decide").replaceChildren(...this.end());
  }

  item(one) {
    const { number, first_slice: first, last_slice: last } = one;
    const decision = this.decision(one), pending = this.pending.has(number);
    const words = pending ? `will be ${decision}` : decision;
    const where = first === last ? `slice ${first}` : `slices ${first}-${last}`;
    const text = make("span", {}, words, make("small", { textContent: `${Math.round(100 * one.probability)} %, ${where}` }));
    const button = make("button", { textContent: pending ? "Undo" : isMetal(decision) ? "Drop" : "Keep", disabled: Boolean(this.state) });
    button.addEventListener("click", (event) => { event.stopPropagation(); this.toggle(number); });
    const item = make("li", { className: decision, title: `${one.pixels} pixels, up to ${Math.round(one.peak_hu)} HU` }, make("span", { textContent: number }), text, button);
    item.classList.toggle("pending", pending);
    item.addEventListener("click", () => this.viewer.go(one.slice - 1));
    return item;
  }

  // The button that reduces the scan again; for a result whose scan is not here, the options that do.
  end() {
    if (this.job?.objects) {
      const button = make("button", { id: "again", textContent: this.state || "Reduce again", disabled: Boolean(this.state) || !this.pending.size });
      button.addEventListener("click", () => this.again().catch(showError));
      return [button];
    }
    if (!this.pending.size) return [];
    const options = [["--keep", this.decided(KEPT)], ["--drop", this.decided(DROPPED)]].filter(([, numbers]) => numbers.length);
    const text = options.map(([name, numbers]) => `${name} ${numbers.join(",")}`).join(" ");
    return [make("p", {}, "Repeat the reduction with", make("code", { textContent: text }))];
  }
}
