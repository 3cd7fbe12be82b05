// Overlays on the images: outlines of metal and objects, expected error, profile line.

import { make } from "./dom.js";

const MAX_ERROR = 100; // HU at the end of the colour scale
const MIN_SHARE = 0.08; // of MAX_ERROR; smaller errors are not coloured

const CYAN = "#00d8ff", YELLOW = "#ffd21e", GREY = "#aab2ba";
const THIN = 1.5, THICK = 4;
const DASHES = [5, 4];

// How to draw the outline of an object: metal, or not; decided by the user but not yet reduced again, or not.
export const METAL = { ink: CYAN, width: THIN, dashes: [] };
export const styleOf = (decision, pending) => ({
  ink: { doubtful: YELLOW, dropped: GREY }[decision] ?? CYAN,
  width: pending ? THICK : THIN,
  dashes: decision === "doubtful" || decision === "dropped" ? DASHES : [],
});

const outlines = new WeakMap(); // image of labels -> their outlines

// The closed outlines of every label: label -> lists of pixel corners. Corners are numbered row by row.
function outlinesOf(image) {
  if (outlines.has(image)) return outlines.get(image);
  const { rows, columns, values } = image;
  const across = columns + 1;
  const sides = new Map(); // label -> corner -> the corners that follow it, with the label on the right
  const at = (r, c) => (r >= 0 && c >= 0 && r < rows && c < columns ? values[r * columns + c] : 0);
  for (let n = 0; n < values.length; n++) {
    const label = values[n];
    if (!label) continue;
    const r = Math.floor(n / columns), c = n % columns, corner = r * across + c;
    if (!sides.has(label)) sides.set(label, new Map());
    const following = sides.get(label);
    const side = (from, to) => { if (following.has(from)) following.get(from).push(to); else following.set(from, [to]); };
    if (at(r - 1, c) !== label) side(corner, corner + 1);
    if (at(r, c + 1) !== label) side(corner + 1, corner + 1 + across);
    if (at(r + 1, c) !== label) side(corner + 1 + across, corner + across);
    if (at(r, c - 1) !== label) side(corner + across, corner);
  }
  const found = new Map([...sides].map(([label, following]) => [label, loops(following)]));
  outlines.set(image, found);
  return found;
}

// Join sides to closed lines; as many end in a corner as begin there.
function loops(following) {
  const found = [];
  for (const [start, ends] of following) {
    while (ends.length) {
      const loop = [start];
      for (let corner = ends.pop(); corner !== start; corner = following.get(corner).pop()) loop.push(corner);
      found.push(loop);
    }
  }
  return found;
}

// Draw the outlines of an image of labels; `style(label)` returns null for those that are not drawn.
export function outline(context, pane, image, style = () => METAL) {
  const [x0, y0] = pane.point(-0.5, -0.5), [x1, y1] = pane.point(0.5, 0.5); // rows and columns are parallel to the screen
  const across = image.columns + 1;
  const x = (corner) => x0 + corner % across * (x1 - x0), y = (corner) => y0 + Math.floor(corner / across) * (y1 - y0);
  for (const [label, lines] of outlinesOf(image)) {
    const drawn = style(label);
    if (!drawn) continue;
    context.strokeStyle = drawn.ink;
    context.lineWidth = drawn.width;
    context.setLineDash(drawn.dashes);
    context.beginPath();
    for (const line of lines) {
      context.moveTo(x(line[0]), y(line[0]));
      for (const corner of line) context.lineTo(x(corner), y(corner));
      context.closePath();
    }
    context.stroke();
  }
  context.setLineDash([]);
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
