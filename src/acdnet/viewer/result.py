"""A result on disk as pictures to look at: what `acdnet reduce` wrote, or what `acdnet evaluate` wrote.

Both are seen alike: slices, each with several images of one size (layers) in HU, the metal, and what is known of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused
from acdnet.files import read_limited
from acdnet.scans.scan import DIFFERENCE, REDUCED

Image = NDArray[np.float32]
LARGEST_REPORT = 256 * 2**20
CASES = "cases.npz"


@dataclass(frozen=True)
class Layer:
    """One of the images of every slice."""

    name: str
    label: str
    is_difference: bool = False


class Result(Protocol):
    """What the page shows."""

    layers: list[Layer]
    report: dict[str, Any]

    def describe(self) -> dict[str, Any]:
        """Return what the page needs to know before it loads a slice."""
        ...

    def image(self, number: int, layer: str) -> Image:
        """Return a layer of slice `number`, from 0, in HU."""
        ...

    def metal(self, number: int) -> NDArray[np.bool_] | None: ...

    def doubt(self, number: int) -> NDArray[np.uint16] | None:
        """Return the expected error in HU."""
        ...


def open_result(folder: Path) -> Result:
    """Open the output of `reduce` or of `evaluate`; refuse what is not whole."""
    if not folder.is_dir():
        raise InputRefused(f"{folder}: no such folder; name the output of acdnet reduce or acdnet evaluate")
    report = _read_report(folder)
    return Reduction(folder, report) if "slices" in report else Comparison(folder, report)


def _read_report(folder: Path) -> dict[str, Any]:
    path = folder / "report.json"
    if not path.is_file():
        raise InputRefused(f"{folder}: has no report.json; it is no output of acdnet reduce or acdnet evaluate")
    try:
        report = json.loads(read_limited(path, LARGEST_REPORT))
    except (ValueError, RecursionError) as error:
        raise InputRefused(f"{path}: is not JSON ({error})") from error
    if not isinstance(report, dict) or not ("slices" in report or "tables" in report):
        raise InputRefused(f"{path}: is no report of acdnet reduce or acdnet evaluate")
    return report


class Reduction:
    """A scan before and after: the scan as it came is the reduced one minus the difference, to the last number."""

    layers = [Layer("before", "Before"), Layer("after", "After"), Layer("difference", "Difference", True)]  # noqa: RUF012

    def __init__(self, folder: Path, report: dict[str, Any]) -> None:
        self.folder, self.report = folder, report
        self.after, self.change = (_open_images(folder, kind) for kind in (REDUCED, DIFFERENCE))
        self.count = len(report["slices"])
        for kind, images in ((REDUCED, self.after), (DIFFERENCE, self.change)):
            if len(images) != self.count:
                raise InputRefused(f"{folder}: {kind} has {len(images)} slices, the report {self.count}")
        self._slice = lru_cache(16)(self._read)
        self._slice(0)

    def _read(self, number: int) -> tuple[Image, Image]:
        after, change = self.after.read(number), self.change.read(number)
        if after.shape != change.shape:
            raise InputRefused(f"{self.folder}: slice {number + 1} is {after.shape}, its difference {change.shape}")
        return after, change

    def describe(self) -> dict[str, Any]:
        keep = ("number", "status", "metal_pixels", "mean_change_hu", "most_change_hu", "expected_error_hu", "reason")
        slices = [{key: entry.get(key) for key in keep} for entry in self.report["slices"]]
        rows, columns = self._slice(0)[0].shape
        return {
            "kind": "reduction",
            "title": str(self.report.get("method", "")),
            "layers": [vars(layer) for layer in self.layers],
            "shape": [rows, columns],
            "spacing_mm": self.report.get("spacing_mm", [1.0, 1.0]),
            "slices": slices,
            "cautions": self.report.get("cautions", []),
            "counts": self.report.get("counts", {}),
        }

    def image(self, number: int, layer: str) -> Image:
        after, change = self._slice(number)
        return {"after": after, "difference": change}[layer] if layer != "before" else after - change

    def metal(self, number: int) -> NDArray[np.bool_] | None:
        maps = self._maps(number)
        return None if maps is None else maps["metal"].astype(bool)

    def doubt(self, number: int) -> NDArray[np.uint16] | None:
        maps = self._maps(number)
        return None if maps is None or "expected_error_hu" not in maps else maps["expected_error_hu"]

    def _maps(self, number: int) -> dict[str, NDArray[Any]] | None:
        path = self.folder / "maps" / f"{number + 1:04d}.npz"
        return _load(path) if path.is_file() else None


class Comparison:
    """Some slices of an evaluation, as every method left them."""

    def __init__(self, folder: Path, report: dict[str, Any]) -> None:
        self.folder, self.report = folder, report
        path = folder / CASES
        if not path.is_file():
            raise InputRefused(f"{folder}: has no {CASES}; evaluate again with this version to look at its slices")
        self.arrays = _load(path)
        try:
            self.names = [str(name) for name in self.arrays["cases"]]
            self.methods = [str(name) for name in self.arrays["methods"]]
            shapes = {self.arrays[f"{n}/clean"].shape for n in range(len(self.names))}
        except KeyError as error:
            raise InputRefused(f"{path}: is not whole ({error})") from error
        self.shape = shapes.pop()
        labels = [Layer(f"m{k}", name) for k, name in enumerate(self.methods)]
        self.layers = [*labels, Layer("clean", "Truth")]

    def describe(self) -> dict[str, Any]:
        slices = [
            {"number": n + 1, "status": name, "metal_pixels": int(self.arrays[f"{n}/metal"].sum())}
            for n, name in enumerate(self.names)
        ]
        return {
            "kind": "evaluation",
            "title": f"{self.report.get('data', '')}, {self.report.get('protocol', '')}",
            "layers": [vars(layer) for layer in self.layers],
            "shape": list(self.shape),
            "spacing_mm": [1.0, 1.0],
            "slices": slices,
            "cautions": [],
            "tables": self.report.get("tables", []),
        }

    def image(self, number: int, layer: str) -> Image:
        return np.asarray(self.arrays[f"{number}/{layer}"], np.float32)

    def metal(self, number: int) -> NDArray[np.bool_] | None:
        return np.asarray(self.arrays[f"{number}/metal"], bool)

    def doubt(self, number: int) -> NDArray[np.uint16] | None:  # noqa: ARG002
        return None


def _load(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    except Exception as error:
        raise InputRefused(f"{path}: cannot be read ({type(error).__name__})") from error


class _Images(Protocol):
    def __len__(self) -> int: ...

    def read(self, number: int) -> Image: ...


def _open_images(folder: Path, kind: str) -> _Images:
    """Open the slices of one kind, in whatever format they were written."""
    place = folder / kind
    if place.is_dir():
        return _Files(sorted(place.iterdir()), place)
    for ending in (".nii.gz", ".nii", ".npy"):
        if (folder / f"{kind}{ending}").is_file():
            return _Volume(folder / f"{kind}{ending}")
    raise InputRefused(f"{folder}: {kind} is missing; before and after cannot be compared")


class _Files:
    """DICOM files or PNGs that `reduce` wrote: named by running numbers."""

    def __init__(self, files: list[Path], place: Path) -> None:
        if not files:
            raise InputRefused(f"{place}: is empty")
        self.files = files

    def __len__(self) -> int:
        return len(self.files)

    def read(self, number: int) -> Image:
        file = self.files[number]
        if file.suffix == ".png":
            from acdnet.scans.arrays import read_png

            return read_png(file)[0]
        from acdnet.dicom.pixels import hounsfield, padding_mask, stored_pixels
        from acdnet.dicom.tags import read_dataset

        try:
            dataset, _ = read_dataset(file)
            stored = stored_pixels(dataset, file)
            return hounsfield(dataset, stored, padding_mask(dataset, stored), file)
        except InputRefused:
            raise
        except Exception as error:
            raise InputRefused(f"{file}: cannot be read ({type(error).__name__})") from error


class _Volume:
    """NIfTI or an array."""

    def __init__(self, path: Path) -> None:
        from acdnet.scans.arrays import ArrayScan
        from acdnet.scans.nifti import NiftiScan

        self.scan = ArrayScan.open(path, (1.0, 1.0)) if path.suffix == ".npy" else NiftiScan(path)

    def __len__(self) -> int:
        return len(self.scan)

    def read(self, number: int) -> Image:
        return self.scan.read(number).hu
