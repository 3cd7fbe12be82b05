// What the server knows: requests, and the slices that were loaded, as plain numbers.

import { $ } from "./dom.js";

const MOST_KEPT = 384 * 2 ** 20; // bytes of images and maps that stay in memory; those that were not used for longest go first

const BUSY = 503;
const PATIENCE = 1000; // ms
const READABLE = 8000; // ms that a message stays

// Ask the server. While it is busy, ask again as long as the answer is still wanted.
export async function ask(path, options = {}, wanted = () => true) {
  let answer = await fetch(`api/${path}`, options);
  while (answer.status === BUSY && wanted()) {
    await new Promise((done) => setTimeout(done, PATIENCE));
    answer = await fetch(`api/${path}`, options);
  }
  if (!answer.ok) {
    let text = answer.statusText;
    try { text = (await answer.json()).error ?? text; } catch { /* not JSON: the status says enough */ }
    throw new Error(text);
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

// Tell what went wrong: for a while, or for good where the page has nothing else to show.
export function complain(error, stays = false) {
  const place = $("error");
  place.textContent = error.message ?? String(error);
  place.hidden = false;
  clearTimeout(timer);
  if (!stays) timer = setTimeout(() => { place.hidden = true; }, READABLE);
}
