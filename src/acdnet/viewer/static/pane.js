// One image: a Cornerstone viewport, and a canvas over it for outlines, maps and lines.

import { Enums, RenderingEngine, cache, imageLoader, init, metaData, setUseCPURendering, utilities } from "./cornerstone.js";
import { load } from "./data.js";
import { make } from "./dom.js";

const SCHEME = "acdnet";
const CACHE_BYTES = 256 * 2 ** 20; // image cache of Cornerstone: six images of 4096 x 4096
let engine;
const shapes = new Map(); // image id -> rows, columns and spacing
const EDGES = ["top", "right", "bottom", "left"];

export async function startEngine() {
  setUseCPURendering(true); // fast with and without a graphics card
  await init();
  cache.setMaxCacheSize(CACHE_BYTES); // the default is 3 GB
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

// The content of a pane.
export function content(given) {
  return {
    number: 0, // slice, from 0
    path: "", // on the server
    label: "", // shown in the pane
    kind: "image", // image, difference or map; each kind has its own window
    white: 1, // initial white value of a map
    unit: "HU", // of the values; "" if they have none
    factor: 1, // multiplies stored values to give that unit
    maps: null, // promise of the overlays {metal, expected_error_hu, objects}
    ...given,
  };
}

export class Pane {
  // `plan(number)` returns the content for a slice.
  constructor(parent, name, plan) {
    this.name = name;
    this.plan = plan;
    this.element = make("div", { className: "image" });
    this.over = make("canvas", { className: "over" });
    this.marks = make("div", { className: "marks" });
    this.edges = EDGES.map((side) => make("div", { className: `edge ${side}` }));
    this.head = null; // element with the label, if there is one
    this.box = make("div", { className: "pane" }, this.element, this.over, this.marks, ...this.edges);
    parent.append(this.box);
    engine.enableElement({ viewportId: name, element: this.element, type: Enums.ViewportType.STACK });
    this.viewport = engine.getViewport(name);
    this.wanted = null; // content requested last
    this.placed = null; // content given to Cornerstone last
    this.shown = null; // content on the screen, or null
    this.image = null; // its values
    this.maps = {}; // its overlays
    this.size = ""; // rows, columns and spacing of the last image
    this.flip = false;
  }

  addHead(className = "label") {
    this.head = make("div", { className });
    this.box.append(this.head);
  }

  get spacing() { return this.image?.spacing ?? [1, 1]; }

  // Load and show content; a later request wins. Label and slice number change together with the image.
  // `decorate` is called after the image is placed and sets window, camera and overlays.
  async show(wanted, decorate) {
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
      decorate(this);
    } catch (error) {
      if (this.wanted !== wanted) return;
      this.blank();
      throw error;
    }
  }

  // Show nothing while the requested content is not available.
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

  // Set the camera if it belongs to an image of this size; otherwise show the whole image.
  setCamera(camera) {
    if (!this.shown) return;
    if (camera?.size === this.size) this.viewport.setCamera({ focalPoint: camera.focalPoint, parallelScale: camera.parallelScale });
    else this.viewport.resetCamera();
    this.viewport.render();
  }

  getCamera() {
    const { focalPoint, parallelScale } = this.viewport.getCamera();
    return { focalPoint: [...focalPoint], parallelScale, size: this.size };
  }

  // Convert a distance on the screen to mm.
  distance(dx, dy) {
    const [a, b] = [this.viewport.canvasToWorld([0, 0]), this.viewport.canvasToWorld([dx, dy])];
    return [b[0] - a[0], b[1] - a[1]];
  }

  // Row and column under a point of the screen; integers are pixel centres. Cornerstone's CPU rendering counts from the
  // image corner instead.
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

  // Convert row and column to canvas coordinates.
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
