// One picture: a Cornerstone viewport, and a canvas over it for outlines, maps and lines.

import { Enums, RenderingEngine, cache, imageLoader, init, metaData, setUseCPURendering, utilities } from "./cornerstone.js";
import { load } from "./data.js";
import { make } from "./dom.js";

const SCHEME = "acdnet";
const MOST_PICTURES = 256 * 2 ** 20; // bytes of images that Cornerstone keeps; six of 4096 x 4096
let engine;
const shapes = new Map(); // image id -> rows, columns and spacing
const EDGES = ["top", "right", "bottom", "left"];

export async function startEngine() {
  setUseCPURendering(true); // quick on every computer, with or without a graphics card
  await init();
  cache.setMaxCacheSize(MOST_PICTURES); // it would take 3 GB
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

// What a pane is asked to show, and then shows.
export function content(given) {
  return {
    number: 0, // slice, from 0
    path: "", // where the server has it
    label: "", // what it is called
    kind: "image", // or "difference" or "map": each kind has its own window
    white: 1, // of a map: which of its numbers is white at first
    unit: "HU", // of its values; "" where they have none
    factor: 1, // what one of its numbers is in that unit
    maps: null, // promise of what can be laid over it, {metal, doubt}
    ...given,
  };
}

export class Pane {
  // `plan` tells what the pane is to show of a slice.
  constructor(parent, name, plan) {
    this.name = name;
    this.plan = plan;
    this.element = make("div", { className: "image" });
    this.over = make("canvas", { className: "over" });
    this.marks = make("div", { className: "marks" });
    this.edges = EDGES.map((side) => make("div", { className: `edge ${side}` }));
    this.head = null; // where the label is written, if anywhere
    this.box = make("div", { className: "pane" }, this.element, this.over, this.marks, ...this.edges);
    parent.append(this.box);
    engine.enableElement({ viewportId: name, element: this.element, type: Enums.ViewportType.STACK });
    this.viewport = engine.getViewport(name);
    this.wanted = null; // content that was asked for last
    this.placed = null; // content that was given to Cornerstone last
    this.shown = null; // content that is on the screen; null: nothing is
    this.image = null; // its numbers
    this.maps = {}; // what can be laid over it
    this.size = ""; // rows, columns and spacing of what was shown last
    this.flip = false;
  }

  addHead(className = "label") {
    this.head = make("div", { className });
    this.box.append(this.head);
  }

  get spacing() { return this.image?.spacing ?? [1, 1]; }

  // Show some content when it is there; what is asked for later wins. Label and number change with the picture, not before.
  // `dress` is called then: for window, camera and overlays.
  async show(wanted, dress) {
    this.wanted = wanted;
    try {
      const [image, maps] = await Promise.all([load(wanted.path), wanted.maps]);
      if (this.wanted !== wanted) return;
      this.placed = wanted;
      await this.viewport.setStack([`${SCHEME}:${wanted.path}`]);
      if (this.placed !== wanted) return;
      Object.assign(this, { shown: wanted, image, maps: maps ?? {}, size: String([image.rows, image.columns, image.spacing]) });
      this.edges.forEach((edge, k) => { edge.textContent = image.edges[k] ?? ""; });
      if (this.head) this.head.textContent = wanted.label;
      this.box.classList.remove("blank");
      dress(this);
    } catch (error) {
      if (this.wanted !== wanted) return;
      this.blank();
      throw error;
    }
  }

  // Show nothing rather than something that is not what was asked for.
  blank() {
    Object.assign(this, { wanted: null, placed: null, shown: null, image: null, maps: {} });
    this.box.classList.add("blank");
  }

  window(range) {
    if (!this.shown) return;
    this.viewport.setProperties({ voiRange: { lower: range[0], upper: range[1] }, invert: this.inverted });
    this.viewport.render();
  }

  get inverted() { return Boolean(this.image?.inverted) !== this.flip; }

  // Look at a point of the image from a distance (half the height of the picture, in mm), if it was meant for an image of
  // this size; or at all of it.
  look(camera) {
    if (!this.shown) return;
    if (camera?.size === this.size) this.viewport.setCamera({ focalPoint: camera.focalPoint, parallelScale: camera.parallelScale });
    else this.viewport.resetCamera();
    this.viewport.render();
  }

  camera() {
    const { focalPoint, parallelScale } = this.viewport.getCamera();
    return { focalPoint: [...focalPoint], parallelScale, size: this.size };
  }

  // How far a way on the screen is in the image, in mm.
  distance(dx, dy) {
    const [a, b] = [this.viewport.canvasToWorld([0, 0]), this.viewport.canvasToWorld([dx, dy])];
    return [b[0] - a[0], b[1] - a[1]];
  }

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
    return image.values[r * image.columns + c] * this.shown.factor;
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
    this.blank();
    engine.disableElement(this.name);
    this.box.remove();
  }
}

export function resizePanes() { engine.resize(true, true); }
