"""Check that the result of a command is complete and can be read by others."""

import json
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pydicom
from numpy.typing import NDArray
from PIL import Image


def wrong_result(out: Path) -> str:
    """Return what is wrong with the folder written by `acdnet reduce`; empty if nothing is."""
    report = json.loads((out / "report.json").read_text())
    if not (out / "report.html").read_text().endswith("</html>"):
        return "report.html is cut short"
    count = sum(report["counts"].values())
    shapes = []
    for kind in ("reduced", "difference"):
        arrays = _read(out, kind)
        if sum(len(array) for array in arrays) != count:
            return f"{kind} has {[array.shape for array in arrays]}, but the report {count} slices"
        shapes.append([array.shape for array in arrays])
    return "" if shapes[0] == shapes[1] else f"the shapes are {shapes}"


def _read(out: Path, kind: str) -> list[NDArray[Any]]:
    """Return the slices of a scan, n x H x W, as other programs read them."""
    folder = out / kind
    if folder.is_dir():
        return [_picture(file)[None] for file in sorted(folder.iterdir())]
    (file,) = out.glob(f"{kind}.*")
    if file.suffix == ".npy":
        array: NDArray[Any] = np.load(file)
        return [array.reshape(-1, *array.shape[-2:])]
    volume: Any = nibabel.load(file)
    axis = [direction for direction, _ in nibabel.io_orientation(volume.affine)].index(2)
    return [np.moveaxis(np.asarray(volume.dataobj), axis, 0)]


def _picture(file: Path) -> NDArray[Any]:
    if file.suffix == ".png":
        return np.asarray(Image.open(file))
    return pydicom.dcmread(file).pixel_array
