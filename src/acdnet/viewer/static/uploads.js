// The first page of `acdnet serve`: drop a scan, watch it, open it, take it home, delete it.

import { askJson, complain } from "./data.js";
import { count, make, when } from "./dom.js";

const AT_A_TIME = 4;
const EVERY = 700; // ms between two looks at the queue

export class Uploads {
  constructor(place, open) {
    this.place = place;
    this.open = open;
    this.sending = new Map(); // job id -> {done, total: bytes; stopped: whether it was cancelled; requests: those under way}
    this.place.hidden = false;
    this.place.innerHTML = `
      <div id="drop"><p><b>Drop a CT scan here</b>: a folder of DICOM files, or one NIfTI volume.</p>
        <p><button id="folder">Choose a folder</button> <button id="file">Choose files</button></p>
        <p style="color:var(--dim)">It stays on this computer. File names are not kept.</p></div>
      <table id="jobs"><tbody></tbody></table>
      <input id="pick-folder" type="file" webkitdirectory hidden><input id="pick-files" type="file" multiple hidden>`;
    const drop = place.querySelector("#drop");
    drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
    drop.addEventListener("dragleave", () => drop.classList.remove("over"));
    drop.addEventListener("drop", (event) => {
      event.preventDefault();
      drop.classList.remove("over");
      dropped(event.dataTransfer).then((files) => this.send(files)).catch(complain);
    });
    for (const [button, input] of [["#folder", "#pick-folder"], ["#file", "#pick-files"]]) {
      const pick = place.querySelector(input);
      place.querySelector(button).addEventListener("click", () => pick.click());
      pick.addEventListener("change", () => { this.send([...pick.files]).catch(complain); pick.value = ""; });
    }
    for (const kind of ["dragover", "drop"]) window.addEventListener(kind, (event) => event.preventDefault()); // beside the frame
    this.lines = new Map(); // job id -> row, and what it said
  }

  start() {
    this.place.hidden = false;
    this.watching = true;
    this.watch();
  }

  async send(files) {
    if (!files.length) throw new Error("there was no file in it");
    const name = files[0].name.toLowerCase();
    const kind = files.length > 1 ? "dicom" : name.endsWith(".nii.gz") ? "nii.gz" : name.endsWith(".nii") ? "nii" : "dicom";
    const job = await askJson("jobs", { method: "POST", body: JSON.stringify({ files: files.length, kind }) });
    const total = files.reduce((sum, file) => sum + file.size, 0);
    const state = { done: 0, total, stopped: false, requests: new Set() };
    this.sending.set(job.id, state);
    try {
      let next = 0;
      const worker = async () => {
        while (next < files.length && !state.stopped) {
          const n = next++;
          await put(`api/jobs/${job.id}/files/${n}`, files[n], state);
        }
      };
      await Promise.all(Array.from({ length: AT_A_TIME }, worker));
      if (!state.stopped) await askJson(`jobs/${job.id}/start`, { method: "POST" });
    } catch (error) {
      if (state.stopped) return; // cancelled: what was under way is expected to fail
      state.stopped = true;
      await askJson(`jobs/${job.id}/cancel`, { method: "POST" }).catch(() => {});
      throw error;
    } finally {
      this.sending.delete(job.id);
    }
  }

  async watch() {
    try { this.draw(await askJson("jobs")); } catch (error) { this.pause(error); complain(error); }
    clearTimeout(this.timer);
    if (this.watching) this.timer = setTimeout(() => this.watch(), EVERY);
  }

  // Let nothing look as if it went on while there is no server; what is known of it later is drawn anew.
  pause(error) {
    if (!error.lasts) return;
    for (const line of this.lines.values()) {
      line.said = "";
      if (GOING.includes(line.row.dataset.state)) line.row.children[2].textContent = "waits for the server";
    }
  }

  draw(jobs) {
    const body = this.place.querySelector("#jobs tbody");
    const known = new Set(jobs.map((job) => job.id));
    for (const [id, { row }] of this.lines) if (!known.has(id)) { row.remove(); this.lines.delete(id); }
    for (const job of jobs) {
      const sending = this.sending.get(job.id);
      const said = JSON.stringify([job, sending?.done]);
      const old = this.lines.get(job.id);
      if (old?.said === said) continue; // what has not changed stays, and with it the pointer that presses it
      const row = this.line(job);
      if (old) old.row.replaceWith(row);
      else body.prepend(row);
      this.lines.set(job.id, { row, said });
    }
  }

  line(job) {
    const line = make("tr");
    line.dataset.job = job.id;
    line.dataset.state = job.state;
    const cells = [`Scan ${job.number}`, `${count(job.files, "file")}, ${when(job.created)}`].map(cell);
    const state = cell(job.asks ? "waiting for your choice" : job.state);
    const sending = this.sending.get(job.id);
    if (sending) state.append(bar(sending.done, sending.total));
    if (job.state === "running" && job.progress.what) {
      state.textContent = job.progress.total ? `${job.progress.what} ${job.progress.done} of ${job.progress.total}` : job.progress.what;
      state.append(bar(job.progress.done, job.progress.total));
    }
    if (job.message && job.message !== job.state) state.append(make("div", { textContent: job.message, style: "color:var(--warn)" }));
    if (job.asks) state.append(...this.question(job));
    const actions = make("td");
    const act = (text, run) => {
      const button = make("button", { textContent: text });
      button.addEventListener("click", () => Promise.resolve(run()).catch(complain));
      actions.append(button, " ");
    };
    if (job.state === "done") {
      act("Look", () => this.open(job.id, job));
      act("Download", () => { location.href = `api/jobs/${job.id}/download`; });
    }
    if (GOING.includes(job.state)) {
      act("Cancel", () => {
        if (sending) sending.stopped = true;
        for (const request of sending?.requests ?? []) request.abort();
        return askJson(`jobs/${job.id}/cancel`, { method: "POST" });
      });
    } else {
      act("Delete", async () => {
        if (confirm(`Delete scan ${job.number} with its result?`)) await askJson(`jobs/${job.id}`, { method: "DELETE" });
      });
    }
    line.append(...cells, state, actions);
    return line;
  }

  // What the job would have to be told to run; the files are still there.
  question(job) {
    const answer = (number) => askJson(`jobs/${job.id}/choose`, { method: "POST", body: JSON.stringify({ answer: number }) });
    const choice = (words, number) => {
      const button = make("button", { textContent: words, className: "choice" });
      button.addEventListener("click", () => answer(number).then(() => this.watch()).catch(complain));
      return button;
    };
    if (job.asks !== "series") return [choice(ACCEPT[job.asks], 1)];
    return [make("div", { textContent: "Which one is to be reduced? The others are not kept." }), ...job.offered.map((title, n) => choice(title, n + 1))];
  }

  stop() {
    this.watching = false;
    clearTimeout(this.timer);
    this.place.hidden = true;
  }
}

const GOING = ["uploading", "queued", "running"]; // states of jobs that have not ended
const ACCEPT = { any_plane: "Take slices that are not axial", lossy: "Take images that were compressed with loss" };

const cell = (text) => make("td", { textContent: text });

const bar = (done, total) => make("progress", total ? { max: total, value: done } : {});

// fetch cannot tell how much was sent; XMLHttpRequest can.
function put(path, file, state) {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    let sent = 0;
    state.requests.add(request);
    request.addEventListener("loadend", () => state.requests.delete(request));
    request.addEventListener("abort", () => failed(new Error("cancelled")));
    request.upload.addEventListener("progress", (event) => { state.done += event.loaded - sent; sent = event.loaded; });
    request.addEventListener("load", () => {
      if (request.status < 300) { done(); return; }
      let text = request.statusText;
      try { text = JSON.parse(request.responseText).error; } catch { /* the status says enough */ }
      failed(new Error(text));
    });
    request.addEventListener("error", () => failed(new Error("the connection was lost")));
    request.open("PUT", path);
    request.send(file);
  });
}

// All files of what was dropped, folders included.
async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const files = [];
  const walk = async (entry) => {
    if (entry.isFile) { files.push(await new Promise((done, failed) => entry.file(done, failed))); return; }
    const reader = entry.createReader();
    for (;;) {
      const part = await new Promise((done, failed) => reader.readEntries(done, failed));
      if (!part.length) return;
      for (const inner of part) await walk(inner);
    }
  };
  for (const entry of entries) await walk(entry);
  return files.length ? files : [...transfer.files];
}
