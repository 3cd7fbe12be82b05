// Begin: open the one result there is, or the page that takes scans.

import { askJson, complain, leave, setCommand } from "./data.js";
import { $ } from "./dom.js";
import { startEngine } from "./pane.js";
import { Uploads } from "./uploads.js";
import { Viewer } from "./viewer.js";

let viewer = null;
let uploads = null;
let wishes = 0; // what was wanted last: an answer to an earlier wish is dropped

// Open a result, of a job if there is one. The page that one is on stays until there is something to show.
async function look(name, job = null) {
  const wish = ++wishes;
  try {
    const about = await askJson(`results/${name}`);
    if (wish !== wishes) return;
    uploads?.stop();
    viewer?.close();
    leave();
    $("home").hidden = uploads === null;
    viewer = new Viewer(name, about, job);
    window.acdnet = viewer; // for the console, and for tests
    await viewer.open();
  } catch (error) {
    if (wish === wishes) throw error;
  }
}

function home() {
  wishes++;
  viewer?.close();
  viewer = null;
  $("home").hidden = true;
  leave();
  uploads ??= new Uploads($("start"), look);
  uploads.start();
}

async function begin() {
  const about = await askJson("start");
  setCommand(about.uploads ? "serve" : "view");
  $("notice").textContent = about.notice;
  $("help").addEventListener("click", () => $("keys").showModal());
  $("home").addEventListener("click", home);
  await startEngine();
  if (about.uploads) home();
  else await look(about.results[0]);
}

begin().catch((error) => complain(error, true));
