// What is drawn over pictures: the outline of the metal, the expected error, the line of a profile.

import { make } from "./dom.js";

const MOST_DOUBT = 100; // HU at which the colours end
const LEAST_SHARE = 0.08; // of that; what is less is not coloured

const outlines = new WeakMap(); // mask -> its edges

// The sides of pixels at which the mask ends: row and column of both ends, corners of pixels being halves.
function edgesOf(mask) {
  if (outlines.has(mask)) return outlines.get(mask);
  const { rows, columns, values } = mask;
  const found = [];
  const at = (r, c) => (r >= 0 && c >= 0 && r < rows && c < columns ? values[r * columns + c] : 0);
  const edge = (r1, c1, r2, c2) => found.push([r1 - 0.5, c1 - 0.5, r2 - 0.5, c2 - 0.5]);
  for (let n = 0; n < values.length; n++) {
    if (!values[n]) continue;
    const r = Math.floor(n / columns), c = n % columns;
    if (!at(r - 1, c)) edge(r, c, r, c + 1);
    if (!at(r + 1, c)) edge(r + 1, c, r + 1, c + 1);
    if (!at(r, c - 1)) edge(r, c, r + 1, c);
    if (!at(r, c + 1)) edge(r, c + 1, r + 1, c + 1);
  }
  outlines.set(mask, found);
  return found;
}

export function outline(context, pane, mask) {
  const [x0, y0] = pane.point(0, 0), [x1, y1] = pane.point(1, 1); // rows and columns lie along the screen
  const x = (column) => x0 + column * (x1 - x0), y = (row) => y0 + row * (y1 - y0);
  context.strokeStyle = "#00d8ff";
  context.lineWidth = 1.5;
  context.beginPath();
  for (const [r1, c1, r2, c2] of edgesOf(mask)) {
    context.moveTo(x(c1), y(r1));
    context.lineTo(x(c2), y(r2));
  }
  context.stroke();
}

let coloured = { doubt: null, canvas: null }; // all panes show the same one

function colours(doubt) {
  if (coloured.doubt === doubt) return coloured.canvas;
  const canvas = make("canvas", { width: doubt.columns, height: doubt.rows });
  const context = canvas.getContext("2d");
  const picture = context.createImageData(doubt.columns, doubt.rows);
  const { data } = picture;
  for (let n = 0; n < doubt.values.length; n++) {
    const share = Math.min(1, doubt.values[n] / MOST_DOUBT);
    if (share <= LEAST_SHARE) continue;
    data[4 * n] = 255;
    data[4 * n + 1] = 200 * (1 - share) + 30;
    data[4 * n + 2] = 30;
    data[4 * n + 3] = 190 * (share - LEAST_SHARE);
  }
  context.putImageData(picture, 0, 0);
  coloured = { doubt, canvas };
  return canvas;
}

export function paintDoubt(context, pane, doubt) {
  const [x0, y0] = pane.point(-0.5, -0.5);
  const [x1, y1] = pane.point(doubt.rows - 0.5, doubt.columns - 0.5);
  context.imageSmoothingEnabled = true;
  context.drawImage(colours(doubt), x0, y0, x1 - x0, y1 - y0);
  context.fillStyle = "#ffd21e";
  context.font = "12px system-ui";
  context.fillText(`expected error, yellow to red: up to ${MOST_DOUBT} HU and more`, 8, 74);
}

export function paintLine(context, pane, line) {
  context.strokeStyle = "#8ab4f8";
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(...pane.point(...line.from));
  context.lineTo(...pane.point(...line.to));
  context.stroke();
}
