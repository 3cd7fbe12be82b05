// Values along a line, one curve per pane.

import { short } from "./dom.js";

const INKS = ["#f28b82", "#81c995", "#8ab4f8", "#fdd663", "#c58af9", "#78d9ec"];
const LEFT = 72, RIGHT = 240, TOP = 14, BOTTOM = 22; // margins, in pixels
const LINE = 17; // height of a line of text

// Curves in HU share the scale on the left; each curve without a unit has its own, printed below its name.
export function drawProfile(canvas, panes, line) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.font = "12px system-ui";
  const curves = panes.map((pane, k) => curveOf(pane, line, INKS[k % INKS.length])).filter(({ values }) => values.some(known));
  if (!curves.length) return;
  const right = width - RIGHT, bottom = height - BOTTOM;
  const y = (value, [low, high]) => bottom - (value - low) / (high - low) * (bottom - TOP);
  const hu = curves.filter(({ unit }) => unit);
  const common = span(hu.flatMap(({ values }) => values));
  context.strokeStyle = "#2c343b";
  context.fillStyle = "#9aa0a6";
  for (const value of [common[0], (common[0] + common[1]) / 2, common[1]]) {
    const at = Math.round(y(value, common)) + 0.5; // crisp one-pixel line
    context.beginPath(); context.moveTo(LEFT, at); context.lineTo(right, at); context.stroke();
    if (hu.length) context.fillText(`${Math.round(value)} ${hu[0].unit}`, 6, at + 4);
  }
  const [far, unit] = lengthOf(panes, line);
  context.fillText(`0 ${unit}`, LEFT, height - 6);
  context.fillText(`${far.toFixed(1)} ${unit}`, right - 60, height - 6);
  let at = TOP + 12;
  const print = (text) => { context.fillText(text, right + 12, at); at += LINE; };
  for (const { label, unit: own, values, ink } of curves) {
    const scale = own ? common : span(values);
    context.strokeStyle = context.fillStyle = ink;
    context.lineWidth = 1.5;
    context.beginPath();
    values.forEach((value, n) => {
      if (known(value)) context.lineTo(LEFT + n / (values.length - 1) * (right - LEFT), y(value, scale));
    });
    context.stroke();
    print(label);
    if (!own) print(`own scale: ${scale.map(short).join(" to ")}`);
  }
}

const known = (value) => value !== null;

// Range of the values, never empty.
function span(values) {
  const all = values.filter(known);
  if (!all.length) return [0, 1];
  const low = Math.min(...all), high = Math.max(...all);
  return [low, high > low ? high : low + 1];
}

function curveOf(pane, { from: [r0, c0], to: [r1, c1] }, ink) {
  const steps = Math.max(2, Math.round(Math.hypot(r1 - r0, c1 - c0)));
  const values = Array.from({ length: steps + 1 }, (_, n) => pane.value(r0 + n / steps * (r1 - r0), c0 + n / steps * (c1 - c0)));
  return { label: pane.shown?.label, unit: pane.shown?.unit, values, ink };
}

function lengthOf(panes, { from: [r0, c0], to: [r1, c1] }) {
  const spacing = panes.find((pane) => pane.image)?.image.spacing;
  const [highMm, wideMm] = spacing ?? [1, 1];
  return [Math.hypot((r1 - r0) * highMm, (c1 - c0) * wideMm), spacing ? "mm" : "pixels"];
}
