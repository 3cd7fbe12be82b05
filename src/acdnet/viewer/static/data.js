// Requests to the server, and a cache of the slices that were loaded.

import { $, make } from "./dom.js";

const CACHE_BYTES = 384 * 2 ** 20; // images and maps in memory; the least recently used are dropped first

const BUSY = 503, FORBIDDEN = 403;
const BUSY_DELAY = 1000; // ms until a busy server is asked again
const MESSAGE_TIME = 8000; // ms that a temporary message stays
const RETRY_DELAY = 300; // ms before checking whether the server still runs

let command = "view"; // the command that started the server
export function setCommand(name) { command = name; }

// The server has stopped; a new one will have another address.
class ServerStopped extends Error {
  permanent = true;
  constructor() { super(`The server has stopped. Run \`acdnet ${command}\` again and open the new address.${command === "serve" ? " Your scans are kept." : ""}`); }
}

class ScanDeleted extends Error {
  get permanent() { return !$("viewer").hidden; } // in the list, the missing row says enough
  constructor() { super("This scan was deleted."); }
}

// Send a request; after a failure, find out whether the server still runs.
async function send(path, options) {
  try {
    const answer = await fetch(`api/${path}`, options);
    if (answer.status !== FORBIDDEN) {
      if (permanent instanceof ServerStopped) hideError();
      return answer;
    }
  } catch { /* reported below */ }
  await new Promise((done) => setTimeout(done, RETRY_DELAY));
  const running = await fetch("api/start").then((answer) => answer.ok, () => false);
  throw running ? new Error("The server did not answer. Try again.") : new ServerStopped();
}

// Whether a failed request was for the result of a deleted scan.
async function isDeleted(path) {
  const [kind, name] = path.split("/");
  if (command !== "serve" || kind !== "results") return false;
  const answer = await send("jobs");
  return answer.ok && !(await answer.json()).some((job) => job.id === name.split("-")[0]);
}

// Send a request; repeat it while the server is busy, as long as the answer is still wanted.
export async function request(path, options = {}, wanted = () => true) {
  let answer = await send(path, options);
  while (answer.status === BUSY && wanted()) {
    await new Promise((done) => setTimeout(done, BUSY_DELAY));
    answer = await send(path, options);
  }
  if (!answer.ok) {
    let text = answer.statusText;
    try { text = (await answer.json()).error ?? text; } catch { /* not JSON: keep the status text */ }
    throw (await isDeleted(path)) ? new ScanDeleted() : new Error(text);
  }
  return answer;
}

export const requestJson = async (path, options, wanted) => (await request(path, options, wanted)).json();

const arrays = new Map(); // path -> {promise, bytes}, least recently used first
let cachedBytes = 0;

// Load an image; null if there is none: {rows, columns, values, spacing, edges, inverted}. Spacing is in mm and null if
// unknown; edges are the anatomical directions at the edges; inverted: large values are dark. Each path is loaded once.
export function load(path, Kind = Int16Array) {
  const entry = arrays.get(path) ?? { promise: fetchArray(path, Kind), bytes: 0 };
  if (arrays.delete(path)) {
    arrays.set(path, entry);
    return entry.promise;
  }
  arrays.set(path, entry);
  entry.promise.then((array) => keep(entry, array?.values.byteLength ?? 0), () => arrays.delete(path));
  return entry.promise;
}

function keep(entry, bytes) {
  entry.bytes = bytes;
  cachedBytes += bytes;
  for (const [path, old] of arrays) {
    if (cachedBytes <= CACHE_BYTES) break;
    if (old === entry || !old.bytes) continue; // still loading
    arrays.delete(path);
    cachedBytes -= old.bytes;
  }
}

async function fetchArray(path, Kind) {
  const answer = await request(path);
  if (answer.status === 204) return null;
  const header = (name) => answer.headers.get(name)?.split(",");
  const [rows, columns] = header("X-Shape").map(Number);
  return {
    rows, columns, values: new Kind(await answer.arrayBuffer()), spacing: header("X-Spacing")?.map(Number) ?? null,
    edges: header("X-Edges") ?? [], inverted: header("X-Inverted") !== undefined,
  };
}

// The name of the result of a job; it changes when the job is reduced again.
export const resultName = (job) => (job.runs ? `${job.id}-${job.runs}` : job.id);

export const layerPath = (result, number, layer) => `results/${result}/slices/${number}/${layer}`;

let timer;
let permanent = null; // the permanent error on the screen; temporary ones do not replace it

// Show an error: for a while, or permanently if the page has nothing else to show. Text between ` is code.
export function showError(error, stays = Boolean(error.permanent)) {
  if (permanent && !stays) return;
  const box = $("error");
  const parts = (error.message ?? String(error)).split("`");
  box.replaceChildren(...parts.map((part, n) => (n % 2 ? make("code", { textContent: part }) : part)));
  box.hidden = false;
  clearTimeout(timer);
  permanent = stays ? error : null;
  if (!stays) timer = setTimeout(hideError, MESSAGE_TIME);
}

// Hide the error of a page that is left, unless the server has stopped.
export function clearError() { if (!(permanent instanceof ServerStopped)) hideError(); }

function hideError() {
  clearTimeout(timer);
  permanent = null;
  $("error").hidden = true;
}
