// What the server knows: requests, and the slices that were loaded, as plain numbers.

const KEPT = 600; // slices of all layers that stay in memory

export async function ask(path, options = {}) {
  const answer = await fetch(`api/${path}`, options);
  if (!answer.ok) {
    let text = answer.statusText;
    try { text = (await answer.json()).error ?? text; } catch { /* not JSON: the status says enough */ }
    throw new Error(text);
  }
  return answer;
}

export const askJson = async (path, options) => (await ask(path, options)).json();

const arrays = new Map();

// Return {rows, columns, values} of an image of the server, or null where there is none. Asked once.
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
  const [rows, columns] = answer.headers.get("X-Shape").split(",").map(Number);
  return { rows, columns, values: new Kind(await answer.arrayBuffer()) };
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
