// Overlays on the images: metal outline, expected error, profile line.

import { make } from "./dom.js";

const MAX_ERROR = 100; // HU at the end of the colour scale
const MIN_SHARE = 0.08; // of MAX_ERROR; smaller errors are not coloured

const outlines = new WeakMap(); // mask -> its edges

// The pixel sides on the boundary of the mask, as row and column of both ends; pixel corners are at half integers.
function edgesOf(mask) {
  if (outlines.has(mask)) return outlines.get(mask);
  const { rows, columns, values } = mask;
  const sides = [];
  const at = (r, c) => (r >= 0 && c >= 0 && r < rows && c < columns ? values[r * columns + c] : 0);
  const edge = (r1, c1, r2, c2) => sides.push([r1 - 0.5, c1 - 0.5, r2 - 0.5, c2 - 0.5]);
  for (let n = 0; n < values.length; n++) {
    if (!values[n]) continue;
    const r = Math.floor(n / columns), c = n % columns;
    if (!at(r - 1, c)) edge(r, c, r, c + 1);
    if (!at(r + 1, c)) edge(r + 1, c, r + 1, c + 1);
    if (!at(r, c - 1)) edge(r, c, r + 1, c);
    if (!at(r, c + 1)) edge(r, c + 1, r + 1, c + 1);
  }
  outlines.set(mask, sides);
  return sides;
}

export function outline(context, pane, mask) {
  const [x0, y0] = pane.point(0, 0), [x1, y1] = pane.point(1, 1); // rows and columns are parallel to the screen
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

let coloured = { error: null, canvas: null }; // all panes show the same error map

function colours(error) {
  if (coloured.error === error) return coloured.canvas;
  const canvas = make("canvas", { width: error.columns, height: error.rows });
  const context = canvas.getContext("2d");
  const picture = context.createImageData(error.columns, error.rows);
  const { data } = picture;
  for (let n = 0; n < error.values.length; n++) {
    const share = Math.min(1, error.values[n] / MAX_ERROR);
    if (share <= MIN_SHARE) continue;
    data[4 * n] = 255;
    data[4 * n + 1] = 200 * (1 - share) + 30;
    data[4 * n + 2] = 30;
    data[4 * n + 3] = 190 * (share - MIN_SHARE);
  }
  context.putImageData(picture, 0, 0);
  coloured = { error, canvas };
  return canvas;
}

export function paintError(context, pane, error) {
  const [x0, y0] = pane.point(-0.5, -0.5);
  const [x1, y1] = pane.point(error.rows - 0.5, error.columns - 0.5);
  context.imageSmoothingEnabled = true;
  context.drawImage(colours(error), x0, y0, x1 - x0, y1 - y0);
  context.fillStyle = "#ffd21e";
  context.font = "12px system-ui";
  context.fillText(`Expected error: yellow to red, ${MAX_ERROR} HU and above`, 8, 74);
}

export function paintLine(context, pane, line) {
  context.strokeStyle = "#8ab4f8";
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(...pane.point(...line.from));
  context.lineTo(...pane.point(...line.to));
  context.stroke();
}
