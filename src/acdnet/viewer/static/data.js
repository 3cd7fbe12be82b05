// What the server knows: requests, and the slices that were loaded, as plain numbers.

import { $, make } from "./dom.js";

const MOST_KEPT = 384 * 2 ** 20; // bytes of images and maps that stay in memory; those that were not used for longest go first

const BUSY = 503, FORBIDDEN = 403;
const PATIENCE = 1000; // ms
const READABLE = 8000; // ms that a message stays
const AGAIN = 300; // ms until a server that did not answer is asked once more

let command = "view"; // what the server was started with
export function setCommand(name) { command = name; }

// The server is gone, and its address with it: the next one has another token.
class Stopped extends Error {
  lasts = true;
  constructor() { super(`The server has stopped. Start \`acdnet ${command}\` again and open the new address${command === "serve" ? "; scans are kept" : ""}.`); }
}

class Deleted extends Error {
  get lasts() { return !$("viewer").hidden; } // in the list its row goes, which says enough
  constructor() { super("This scan was deleted."); }
}

// Fetch something of the server; one request that fails does not mean that there is none.
async function reach(path, options) {
  try {
    const answer = await fetch(`api/${path}`, options);
    if (answer.status !== FORBIDDEN) {
      if (lasting instanceof Stopped) calm();
      return answer;
    }
  } catch { /* told below */ }
  await new Promise((done) => setTimeout(done, AGAIN));
  const there = await fetch("api/start").then((answer) => answer.ok, () => false);
  throw there ? new Error("the server did not answer; try again") : new Stopped();
}

// Whether a request was about a result whose scan is no more.
async function isDeleted(path) {
  const [kind, name] = path.split("/");
  if (command !== "serve" || kind !== "results") return false;
  const answer = await reach("jobs");
  return answer.ok && !(await answer.json()).some((job) => job.id === name);
}

// Ask the server. While it is busy, ask again as long as the answer is still wanted.
export async function ask(path, options = {}, wanted = () => true) {
  let answer = await reach(path, options);
  while (answer.status === BUSY && wanted()) {
    await new Promise((done) => setTimeout(done, PATIENCE));
    answer = await reach(path, options);
  }
  if (!answer.ok) {
    let text = answer.statusText;
    try { text = (await answer.json()).error ?? text; } catch { /* not JSON: the status says enough */ }
    throw (await isDeleted(path)) ? new Deleted() : new Error(text);
  }
  return answer;
}

export const askJson = async (path, options, wanted) => (await ask(path, options, wanted)).json();

const arrays = new Map(); // path -> {promise, bytes}, the one used last at the end
let kept = 0;

// Return an image of the server, or null where there is none: {rows, columns, values}, and where they are known the
// spacing of rows and columns in mm, what of the patient lies at the edges, and whether large numbers are dark. Asked once.
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
  kept += bytes;
  for (const [path, old] of arrays) {
    if (kept <= MOST_KEPT) break;
    if (old === entry || !old.bytes) continue; // what is under way is wanted
    arrays.delete(path);
    kept -= old.bytes;
  }
}

async function fetchArray(path, Kind) {
  const answer = await ask(path);
  if (answer.status === 204) return null;
  const told = (name) => answer.headers.get(name)?.split(",");
  const [rows, columns] = told("X-Shape").map(Number);
  return {
    rows, columns, values: new Kind(await answer.arrayBuffer()), spacing: told("X-Spacing")?.map(Number) ?? null,
    edges: told("X-Edges") ?? [], inverted: told("X-Inverted") !== undefined,
  };
}

export const layerPath = (result, number, layer) => `results/${result}/slices/${number}/${layer}`;

let timer;
let lasting = null; // what is told for good; nothing that passes is told instead

// Tell what went wrong: for a while, or for good where the page has nothing else to show. What stands between ` is code.
export function complain(error, stays = Boolean(error.lasts)) {
  if (lasting && !stays) return;
  const place = $("error");
  const parts = (error.message ?? String(error)).split("`");
  place.replaceChildren(...parts.map((part, n) => (n % 2 ? make("code", { textContent: part }) : part)));
  place.hidden = false;
  clearTimeout(timer);
  lasting = stays ? error : null;
  if (!stays) timer = setTimeout(calm, READABLE);
}

// Take back what was told, unless it is that there is no server.
export function leave() { if (!(lasting instanceof Stopped)) calm(); }

function calm() {
  clearTimeout(timer);
  lasting = null;
  $("error").hidden = true;
}
