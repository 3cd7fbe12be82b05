// The start page of `acdnet serve`: upload scans, follow their progress, open, download and delete them.

import { requestJson, resultName, showError } from "./data.js";
import { count, formatTime, make } from "./dom.js";

const PARALLEL_UPLOADS = 4;
const POLL_INTERVAL = 700; // ms

export class Uploads {
  constructor(box, open) {
    this.box = box;
    this.open = open;
    this.sending = new Map(); // job id -> {done, total: bytes; stopped: cancelled; requests: in progress}
    this.box.hidden = false;
    this.box.innerHTML = `
      <div id="drop"><p><b>Drop a CT scan here</b>: a DICOM folder or a NIfTI volume</p>
        <p><button id="folder">Choose a folder</button> <button id="file">Choose files</button></p>
        <p style="color:var(--dim)">Scans stay on this computer. File names are not stored.</p></div>
      <table id="jobs"><tbody></tbody></table>
      <input id="pick-folder" type="file" webkitdirectory hidden><input id="pick-files" type="file" multiple hidden>`;
    const drop = box.querySelector("#drop");
    drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
    drop.addEventListener("dragleave", () => drop.classList.remove("over"));
    drop.addEventListener("drop", (event) => {
      event.preventDefault();
      drop.classList.remove("over");
      droppedFiles(event.dataTransfer).then((files) => this.send(files)).catch(showError);
    });
    for (const [button, input] of [["#folder", "#pick-folder"], ["#file", "#pick-files"]]) {
      const pick = box.querySelector(input);
      box.querySelector(button).addEventListener("click", () => pick.click());
      pick.addEventListener("change", () => { this.send([...pick.files]).catch(showError); pick.value = ""; });
    }
    for (const kind of ["dragover", "drop"]) window.addEventListener(kind, (event) => event.preventDefault()); // a drop outside the frame must not leave the page
    this.lines = new Map(); // job id -> row, and the job it was drawn from
  }

  // Rows of before are shown only when they are up to date: their results may have been replaced.
  start() {
    this.watching = true;
    this.watch().finally(() => { if (this.watching) this.box.hidden = false; });
  }

  async send(files) {
    if (!files.length) throw new Error("The folder contains no files.");
    const name = files[0].name.toLowerCase();
    const kind = files.length > 1 ? "dicom" : name.endsWith(".nii.gz") ? "nii.gz" : name.endsWith(".nii") ? "nii" : "dicom";
    const job = await requestJson("jobs", { method: "POST", body: JSON.stringify({ files: files.length, kind }) });
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
      await Promise.all(Array.from({ length: PARALLEL_UPLOADS }, worker));
      if (!state.stopped) await requestJson(`jobs/${job.id}/start`, { method: "POST" });
    } catch (error) {
      if (state.stopped) return; // cancelled: running requests are expected to fail
      state.stopped = true;
      await requestJson(`jobs/${job.id}/cancel`, { method: "POST" }).catch(() => {});
      throw error;
    } finally {
      this.sending.delete(job.id);
    }
  }

  async watch() {
    try { this.draw(await requestJson("jobs")); } catch (error) { this.pause(error); showError(error); }
    clearTimeout(this.timer);
    if (this.watching) this.timer = setTimeout(() => this.watch(), POLL_INTERVAL);
  }

  // Without a server nothing must look active; the rows are drawn again after the next answer.
  pause(error) {
    if (!error.permanent) return;
    for (const line of this.lines.values()) {
      line.drawn = "";
      if (ACTIVE.includes(line.row.dataset.state)) line.row.children[2].textContent = "waiting for the server";
    }
  }

  draw(jobs) {
    const body = this.box.querySelector("#jobs tbody");
    const known = new Set(jobs.map((job) => job.id));
    for (const [id, { row }] of this.lines) if (!known.has(id)) { row.remove(); this.lines.delete(id); }
    for (const job of jobs) {
      const sending = this.sending.get(job.id);
      const drawn = JSON.stringify([job, sending?.done]);
      const old = this.lines.get(job.id);
      if (old?.drawn === drawn) continue; // an unchanged row stays in place, so that a click on it works
      const row = this.line(job);
      if (old) old.row.replaceWith(row);
      else body.prepend(row);
      this.lines.set(job.id, { row, drawn });
    }
  }

  line(job) {
    const line = make("tr");
    line.dataset.job = job.id;
    line.dataset.state = job.state;
    const cells = [`Scan ${job.number}`, `${count(job.files, "file")}, ${formatTime(job.created)}`].map(cell);
    const state = cell(job.needs ? "waiting for your choice" : job.state);
    const sending = this.sending.get(job.id);
    if (sending) state.append(bar(sending.done, sending.total));
    if (job.state === "running" && job.progress.what) {
      state.textContent = job.progress.total ? `${job.progress.what} ${job.progress.done} of ${job.progress.total}` : job.progress.what;
      state.append(bar(job.progress.done, job.progress.total));
    }
    if (job.message && job.message !== job.state) state.append(make("div", { textContent: job.message, style: "color:var(--warn)" }));
    if (job.needs) state.append(...this.choices(job));
    const actions = make("td");
    const act = (text, run) => {
      const button = make("button", { textContent: text });
      button.addEventListener("click", () => Promise.resolve(run()).catch(showError));
      actions.append(button, " ");
    };
    if (job.state === "done" || job.again) { // its result stays until it was reduced again
      act("Open", () => this.open(resultName(job), job));
      act("Download", () => { location.href = `api/jobs/${job.id}/download`; });
    }
    if (ACTIVE.includes(job.state)) {
      act("Cancel", () => {
        if (sending) sending.stopped = true;
        for (const request of sending?.requests ?? []) request.abort();
        return requestJson(`jobs/${job.id}/cancel`, { method: "POST" });
      });
    } else {
      act("Delete", async () => {
        if (confirm(`Delete scan ${job.number} and its result?`)) await requestJson(`jobs/${job.id}`, { method: "DELETE" });
      });
    }
    line.append(...cells, state, actions);
    return line;
  }

  // Buttons for the choice a job needs; its files are still on the server.
  choices(job) {
    const answer = (number) => requestJson(`jobs/${job.id}/choose`, { method: "POST", body: JSON.stringify({ answer: number }) });
    const choice = (words, number) => {
      const button = make("button", { textContent: words, className: "choice" });
      button.addEventListener("click", () => answer(number).then(() => this.watch()).catch(showError));
      return button;
    };
    if (job.needs !== "series") return [choice(ACCEPT[job.needs], 1)];
    return [make("div", { textContent: "Choose the series to reduce." }), ...job.choices.map((title, n) => choice(title, n + 1))];
  }

  stop() {
    this.watching = false;
    clearTimeout(this.timer);
    this.box.hidden = true;
  }
}

const ACTIVE = ["uploading", "queued", "running"]; // states of unfinished jobs
const ACCEPT = { any_plane: "Accept non-axial slices", lossy: "Accept lossy compressed images" };

const cell = (text) => make("td", { textContent: text });

const bar = (done, total) => make("progress", total ? { max: total, value: done } : {});

// XMLHttpRequest instead of fetch, which reports no upload progress.
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
      try { text = JSON.parse(request.responseText).error; } catch { /* not JSON: keep the status text */ }
      failed(new Error(text));
    });
    request.addEventListener("error", () => failed(new Error("The connection was lost. Upload the scan again.")));
    request.open("PUT", path);
    request.send(file);
  });
}

// All dropped files, including those in folders.
async function droppedFiles(transfer) {
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
