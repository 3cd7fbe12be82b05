// Entry point: open the single result, or the list of scans.

import { clearError, requestJson, setCommand, showError } from "./data.js";
import { $ } from "./dom.js";
import { startEngine } from "./pane.js";
import { Uploads } from "./uploads.js";
import { Viewer } from "./viewer.js";

let viewer = null;
let uploads = null;
let requests = 0; // number of the latest request; answers to earlier ones are dropped

// Open a result, given with its job if it has one, at a slice. The current page stays until the result has loaded.
async function openResult(name, job = null, number = null) {
  const request = ++requests;
  try {
    const about = await requestJson(`results/${name}`);
    if (request !== requests) return;
    uploads?.stop();
    viewer?.close();
    clearError();
    $("home").hidden = uploads === null;
    viewer = new Viewer(name, about, job, openResult);
    window.acdnet = viewer; // for the console and for tests
    await viewer.open(number);
  } catch (error) {
    if (request === requests) throw error;
  }
}

function home() {
  requests++;
  viewer?.close();
  viewer = null;
  $("home").hidden = true;
  clearError();
  uploads ??= new Uploads($("start"), openResult);
  uploads.start();
}

async function start() {
  const about = await requestJson("start");
  setCommand(about.uploads ? "serve" : "view");
  $("notice").textContent = about.notice;
  $("help").addEventListener("click", () => $("keys").showModal());
  $("home").addEventListener("click", home);
  await startEngine();
  if (about.uploads) home();
  else await openResult(about.results[0]);
}

start().catch((error) => showError(error, true));
