// Begin: open the one result there is, or the page that takes scans.

import { askJson, complain } from "./data.js";
import { startEngine } from "./pane.js";
import { Uploads } from "./uploads.js";
import { openResult } from "./viewer.js";

const $ = (id) => document.getElementById(id);
let viewer = null;
let uploads = null;

async function look(name) {
  uploads?.stop();
  $("home").hidden = uploads === null;
  viewer = await openResult(name);
  window.acdnet = viewer; // for the console, and for tests
}

function home() {
  viewer?.close();
  viewer = null;
  $("home").hidden = true;
  $("title").textContent = "";
  uploads ??= new Uploads($("start"), (name) => look(name));
  uploads.start();
}

async function begin() {
  const about = await askJson("start");
  $("notice").textContent = about.notice;
  $("help").addEventListener("click", () => $("keys").showModal());
  $("home").addEventListener("click", home);
  await startEngine();
  if (about.uploads) home();
  else await look(about.results[0]);
}

begin().catch(complain);
