// vtk.js can read XML files; the viewer reads none, and the reader drags in a megabyte made for servers.
export const create = () => {
  throw new Error("XML is not read here");
};
