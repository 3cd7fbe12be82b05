// What the server knows: requests, and the slices that were loaded, as plain numbers.

const KEPT = 600; // slices of all layers that stay in memory

const BUSY = 503;
const PATIENCE = 1000; // ms

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

const arrays = new Map();

// Return an image of the server, or null where there is none: {rows, columns, values}, and where they are known the
// spacing of rows and columns in mm, what of the patient lies at the edges, and whether large numbers are dark. Asked once.
export function load(path, Kind = Int16Array) {
  if (!arrays.has(path)) {
    arrays.set(path, fetchArray(path, Kind).catch((error) => { arrays.delete(path); throw error; }));
    for (const old of arrays.keys()) {
      if (arrays.size <= KEPT) break;
      arrays.delete(old);
    }
  }
  return arrays.get(path);
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
export function complain(error) {
  const place = document.getElementById("error");
  place.textContent = error.message ?? String(error);
  place.hidden = false;
  clearTimeout(timer);
  timer = setTimeout(() => { place.hidden = true; }, 8000);
}
