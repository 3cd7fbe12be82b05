export { Enums, RenderingEngine, cache, imageLoader, init, metaData, setUseCPURendering, utilities } from "@cornerstonejs/core";
