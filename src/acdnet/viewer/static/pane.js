// One picture: a Cornerstone viewport, and a canvas over it for outlines, maps and lines.

import { Enums, RenderingEngine, imageLoader, init, metaData, setUseCPURendering, utilities } from "./cornerstone.js";
import { load } from "./data.js";

const SCHEME = "acdnet";
let engine;
const shapes = new Map(); // image id -> rows, columns and spacing
const EDGES = ["top", "right", "bottom", "left"];

export async function startEngine() {
  setUseCPURendering(true); // quick on every computer, with or without a graphics card
  await init();
  imageLoader.registerImageLoader(SCHEME, (id) => ({ promise: makeImage(id) }));
  metaData.addProvider(describe, 1000);
  engine = new RenderingEngine("acdnet");
}

const pathOf = (id) => id.slice(SCHEME.length + 1);

async function makeImage(id) {
  const { rows, columns, values, spacing: known } = await load(pathOf(id));
  const spacing = known ?? [1, 1];
  shapes.set(id, { rows, columns, spacing });
  let low = Infinity, high = -Infinity;
  for (const value of values) { if (value < low) low = value; if (value > high) high = value; }
  const voxelManager = utilities.VoxelManager.createImageVoxelManager({
    width: columns, height: rows, scalarData: values, numberOfComponents: 1,
  });
  return {
    imageId: id, minPixelValue: low, maxPixelValue: high, slope: 1, intercept: 0, windowCenter: 40, windowWidth: 400,
    voiLUTFunction: "LINEAR", getPixelData: () => values, getCanvas: undefined, rows, columns, height: rows, width: columns,
    color: false, rgba: false, numberOfComponents: 1, columnPixelSpacing: spacing[1], rowPixelSpacing: spacing[0],
    invert: false, sizeInBytes: values.byteLength, photometricInterpretation: "MONOCHROME2", dataType: "Int16Array",
    voxelManager,
  };
}

function describe(type, id) {
  if (typeof id !== "string" || !id.startsWith(`${SCHEME}:`)) return undefined;
  const { rows, columns, spacing } = shapes.get(id) ?? { rows: 512, columns: 512, spacing: [1, 1] };
  switch (type) {
    case "imagePlaneModule":
      return {
        frameOfReferenceUID: "1.2.3", rows, columns, imageOrientationPatient: [1, 0, 0, 0, 1, 0], rowCosines: [1, 0, 0],
        columnCosines: [0, 1, 0], imagePositionPatient: [0, 0, 0], pixelSpacing: spacing, rowPixelSpacing: spacing[0],
        columnPixelSpacing: spacing[1],
      };
    case "imagePixelModule":
      return {
        samplesPerPixel: 1, photometricInterpretation: "MONOCHROME2", rows, columns, bitsAllocated: 16, bitsStored: 16,
        highBit: 15, pixelRepresentation: 1,
      };
    case "generalSeriesModule":
      return { modality: "CT" };
    case "voiLutModule":
      return { windowCenter: [40], windowWidth: [400] };
    case "modalityLutModule":
      return { rescaleSlope: 1, rescaleIntercept: 0 };
    default:
      return undefined;
  }
}

export class Pane {
  constructor(parent, name) {
    this.name = name;
    this.box = document.createElement("div");
    this.box.className = "pane";
    this.element = document.createElement("div");
    this.element.className = "image";
    this.over = document.createElement("canvas");
    this.over.className = "over";
    this.marks = document.createElement("div");
    this.marks.className = "marks";
    this.edges = EDGES.map((side) => Object.assign(document.createElement("div"), { className: `edge ${side}` }));
    this.box.append(this.element, this.over, this.marks, ...this.edges);
    parent.append(this.box);
    engine.enableElement({ viewportId: name, element: this.element, type: Enums.ViewportType.STACK });
    this.viewport = engine.getViewport(name);
    this.path = "";
    this.image = null;
    this.flip = false;
  }

  get spacing() { return this.image?.spacing ?? [1, 1]; }

  // Show an image of the server; what is asked for later wins.
  async show(path) {
    this.path = path;
    let image;
    try { image = await load(path); } catch (error) { this.blank(); throw error; }
    if (this.path !== path) return false;
    const same = this.image && String([image.rows, image.columns, image.spacing]) === this.kind;
    this.kind = String([image.rows, image.columns, image.spacing]);
    this.image = image;
    this.edges.forEach((edge, k) => { edge.textContent = image.edges[k] ?? ""; });
    this.box.classList.remove("blank");
    const id = `${SCHEME}:${path}`;
    const first = !this.shown;
    const camera = first ? null : this.camera();
    await this.viewport.setStack([id]);
    if (this.path !== path) return false;
    this.shown = true;
    if (camera && same) this.look(camera);
    else if (camera) this.reset(); // another size: what was looked at is not there
    if (this.range) this.window(this.range);
    return true;
  }

  // Show nothing rather than something that is not what was asked for.
  blank() {
    this.path = "";
    this.image = null;
    this.box.classList.add("blank");
  }

  window(range) {
    this.range = range;
    if (!this.shown) return;
    this.viewport.setProperties({ voiRange: { lower: range[0], upper: range[1] }, invert: this.inverted });
    this.viewport.render();
  }

  get inverted() { return Boolean(this.image?.inverted) !== this.flip; }

  // Look at a point of the image from a distance: half the height of the picture, in mm.
  look({ focalPoint, parallelScale }) {
    if (!this.shown) return;
    this.viewport.setCamera({ focalPoint, parallelScale });
    this.viewport.render();
  }

  camera() {
    const { focalPoint, parallelScale } = this.viewport.getCamera();
    return { focalPoint: [...focalPoint], parallelScale };
  }

  // How far a way on the screen is in the image, in mm.
  distance(dx, dy) {
    const [a, b] = [this.viewport.canvasToWorld([0, 0]), this.viewport.canvasToWorld([dx, dy])];
    return [b[0] - a[0], b[1] - a[1]];
  }

  reset() { if (this.shown) { this.viewport.resetCamera(); this.viewport.render(); } }

  // Row and column under a point of the screen; whole numbers are the middles of pixels. Cornerstone, drawing without a
  // graphics card, counts from the corner of the image instead.
  pixel(event) {
    const box = this.element.getBoundingClientRect();
    const [x, y] = this.viewport.canvasToWorld([event.clientX - box.left, event.clientY - box.top]);
    return [y / this.spacing[0] - 0.5, x / this.spacing[1] - 0.5];
  }

  value(row, column) {
    const image = this.image;
    const r = Math.round(row), c = Math.round(column);
    if (!image || r < 0 || c < 0 || r >= image.rows || c >= image.columns) return null;
    return image.values[r * image.columns + c] * (this.factor ?? 1);
  }

  // Where a row and column are on the canvas.
  point(row, column) { return this.viewport.worldToCanvas([(column + 0.5) * this.spacing[1], (row + 0.5) * this.spacing[0], 0]); }

  draw(paint) {
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = this.box;
    if (this.over.width !== Math.round(width * ratio) || this.over.height !== Math.round(height * ratio)) {
      this.over.width = Math.round(width * ratio);
      this.over.height = Math.round(height * ratio);
    }
    const context = this.over.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (this.shown) paint(context, this);
  }

  remove() {
    engine.disableElement(this.name);
    this.box.remove();
  }
}

export function resizePanes() { engine.resize(true, true); }
