// What is drawn over pictures: the outline of the metal, the expected error, the line of a profile.

const MOST_DOUBT = 100; // HU at which the colours end

export function outline(context, pane, mask) {
  const { rows, columns, values } = mask;
  context.strokeStyle = "#00d8ff";
  context.lineWidth = 1.5;
  context.beginPath();
  const at = (r, c) => (r >= 0 && c >= 0 && r < rows && c < columns ? values[r * columns + c] : 0);
  const edge = (r1, c1, r2, c2) => {
    context.moveTo(...pane.point(r1 - 0.5, c1 - 0.5));
    context.lineTo(...pane.point(r2 - 0.5, c2 - 0.5));
  };
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      if (!values[r * columns + c]) continue;
      if (!at(r - 1, c)) edge(r, c, r, c + 1);
      if (!at(r + 1, c)) edge(r + 1, c, r + 1, c + 1);
      if (!at(r, c - 1)) edge(r, c, r + 1, c);
      if (!at(r, c + 1)) edge(r, c + 1, r + 1, c + 1);
    }
  }
  context.stroke();
}

const painted = new WeakMap();

function colours(doubt) {
  if (painted.has(doubt)) return painted.get(doubt);
  const canvas = document.createElement("canvas");
  canvas.width = doubt.columns;
  canvas.height = doubt.rows;
  const context = canvas.getContext("2d");
  const picture = context.createImageData(doubt.columns, doubt.rows);
  doubt.values.forEach((hu, n) => {
    const share = Math.min(1, hu / MOST_DOUBT);
    picture.data[4 * n] = 255;
    picture.data[4 * n + 1] = 200 * (1 - share) + 30;
    picture.data[4 * n + 2] = 30;
    picture.data[4 * n + 3] = 190 * Math.max(0, share - 0.08);
  });
  context.putImageData(picture, 0, 0);
  painted.set(doubt, canvas);
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

const INKS = ["#f28b82", "#81c995", "#8ab4f8", "#fdd663", "#c58af9", "#78d9ec"];

// Draw the values along the line, one curve for each pane.
export function drawProfile(canvas, panes, line) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const [r0, c0] = line.from, [r1, c1] = line.to;
  const steps = Math.max(2, Math.round(Math.hypot(r1 - r0, c1 - c0)));
  const spacing = panes[0].image?.spacing, [high_mm, wide_mm] = spacing ?? [1, 1], unit = spacing ? "mm" : "pixels";
  const length = Math.hypot((r1 - r0) * high_mm, (c1 - c0) * wide_mm);
  const curves = panes.map((pane) => Array.from({ length: steps + 1 }, (_, n) => {
    const share = n / steps;
    return pane.value(r0 + share * (r1 - r0), c0 + share * (c1 - c0));
  }));
  const all = curves.flat().filter((value) => value !== null);
  if (!all.length) return;
  const low = Math.min(...all), high = Math.max(...all, low + 1);
  const left = 72, right = width - 150, top = 14, bottom = height - 22;
  const y = (value) => bottom - (value - low) / (high - low) * (bottom - top);
  context.font = "12px system-ui";
  context.strokeStyle = "#2c343b";
  context.fillStyle = "#9aa0a6";
  for (const value of [low, (low + high) / 2, high]) {
    context.beginPath(); context.moveTo(left, y(value)); context.lineTo(right, y(value)); context.stroke();
    context.fillText(`${Math.round(value)} HU`, 6, y(value) + 4);
  }
  context.fillText(`0 ${unit}`, left, height - 6);
  context.fillText(`${length.toFixed(1)} ${unit}`, right - 60, height - 6);
  curves.forEach((curve, k) => {
    context.strokeStyle = INKS[k % INKS.length];
    context.lineWidth = 1.5;
    context.beginPath();
    curve.forEach((value, n) => {
      if (value === null) return;
      context.lineTo(left + n / steps * (right - left), y(value));
    });
    context.stroke();
    context.fillStyle = context.strokeStyle;
    context.fillText(panes[k].label ?? "", right + 12, top + 12 + 18 * k);
  });
}
