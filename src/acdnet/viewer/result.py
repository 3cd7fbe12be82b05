"""A result on disk as pictures to look at: what `acdnet reduce` wrote, or what `acdnet evaluate` wrote."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused
from acdnet.scans.scan import DIFFERENCE, REDUCED
from acdnet.viewer.evaluation import Comparison
from acdnet.viewer.images import Images, open_images
from acdnet.viewer.layer import Image, Layer, Plane, Result
from acdnet.viewer.saved import check_image, load_arrays, read_json

LARGEST_REPORT = 256 * 2**20
LARGEST_MAPS = 64 * 2**20
KEPT_BYTES, KEPT_MAP_BYTES = 32 * 2**20, 8 * 2**20
"""How much of a result stays in memory: slices, and what is known about them pixel by pixel."""
HASH = re.compile(r"[0-9a-f]{64}")


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
    report = read_json(path, LARGEST_REPORT)
    if not isinstance(report, dict) or not ("slices" in report or "tables" in report):
        raise InputRefused(f"{path}: is no report of acdnet reduce or acdnet evaluate")
    slices = report.get("slices", [{}])
    if not isinstance(slices, list) or not slices or not all(isinstance(entry, dict) for entry in slices):
        raise InputRefused(f"{path}: its slices are no list of what is known about them")
    kinds = {"cautions": list, "tables": list, "counts": dict, "spacing_mm": list}
    for name, kind in kinds.items():
        if not isinstance(report.get(name, kind()), kind):
            raise InputRefused(f"{path}: {name} is a {type(report[name]).__name__}")
    return report


def _spacing(report: dict[str, Any], folder: Path) -> tuple[float, float]:
    """Return the distance of rows and of columns with which a scan was reduced."""
    values = report.get("spacing_mm", [1.0, 1.0])
    if len(values) != 2 or not all(type(mm) in (int, float) and 0 < mm < math.inf for mm in values):
        raise InputRefused(f"{folder}: spacing_mm of its report is {values!s:.60}; two lengths are needed")
    return float(values[0]), float(values[1])


class Reduction:
    """A scan before and after: the scan as it came is the reduced one minus the difference.

    That is exact where HU are whole. Differences are written in whole HU, so that HU with a fraction (float volumes, a
    RescaleSlope that is not whole) come out within half a HU; and a pixel that held no number looks as it does after.
    """

    layers = [Layer("before", "Before"), Layer("after", "After"), Layer("difference", "After - Before", True)]  # noqa: RUF012

    def __init__(self, folder: Path, report: dict[str, Any]) -> None:
        self.folder, self.report, self.spacing_mm = folder, report, _spacing(report, folder)
        after, change = (open_images(folder, kind) for kind in (REDUCED, DIFFERENCE))
        self.count = len(report["slices"])
        for kind, images in ((REDUCED, after), (DIFFERENCE, change)):
            if len(images) != self.count:
                raise InputRefused(f"{folder}: {kind} has {len(images)} slices, the report {self.count}")
        read = partial(_read_pair, folder, after, change)
        first, *_ = read(0)
        self._slice = lru_cache(max(1, KEPT_BYTES // (2 * first.nbytes)))(read)
        self._maps = lru_cache(max(1, KEPT_MAP_BYTES // (3 * first.size)))(partial(_read_maps, folder, self._slice))
        self.shape = first.shape

    def describe(self) -> dict[str, Any]:
        keep = ("number", "status", "metal_pixels", "mean_change_hu", "most_change_hu", "expected_error_hu", "reason")
        slices = [{key: entry.get(key) for key in keep} for entry in self.report["slices"]]
        return {
            "kind": "reduction",
            "title": str(self.report.get("method", "")),
            "layers": [vars(layer) for layer in self.layers],
            "first": [layer.name for layer in self.layers],
            "swipe": ["before", "after"],
            "shape": list(self.shape),
            "slices": slices,
            "cautions": self.report.get("cautions", []),
            "counts": self.report.get("counts", {}),
        }

    def image(self, number: int, layer: str) -> Image:
        after, change, _ = self._slice(number)
        return {"after": after, "difference": change}[layer] if layer != "before" else after - change

    def plane(self, number: int) -> Plane:
        """Return how a slice lies; the pixel size that a file does not say was said when it was reduced."""
        plane = self._slice(number)[2]
        return plane if plane.spacing_mm else replace(plane, spacing_mm=self.spacing_mm)

    def metal(self, number: int) -> NDArray[np.bool_] | None:
        return self._maps(number)[0]

    def doubt(self, number: int) -> NDArray[np.uint16] | None:
        return self._maps(number)[1]

    def why_no_stages(self) -> str:
        label = str(self.report.get("method", ""))
        if not HASH.fullmatch(str(self.report.get("weights", ""))):
            return f"this result was made by {label}, which is no network; only ACDNet has stages"
        if not label.startswith("ACDNet"):
            return f"this result was made by {label}, another network; only ACDNet has stages"
        return ""

    def why_not_this(self, number: int) -> str:
        from acdnet.reduction.record import PASSED

        entry, metal = self.report["slices"][number], self.metal(number)
        if entry.get("status") == PASSED:
            return f"slice {number + 1} was left as it came: {entry.get('reason') or 'no reason is told'}"
        if metal is None or not metal.any():
            return f"slice {number + 1} has no metal; the network did not see it"
        return ""


Maps = tuple[NDArray[np.bool_] | None, NDArray[np.uint16] | None]
"""Where metal is, and the expected error in HU; of slices without metal neither is written."""


def _read_maps(folder: Path, read: Callable[[int], tuple[Image, Image, Plane]], number: int) -> Maps:
    path = folder / "maps" / f"{number + 1:04d}.npz"
    if not path.is_file():
        return None, None
    arrays, shape = load_arrays(path, LARGEST_MAPS), read(number)[0].shape
    metal = check_image(arrays.get("metal"), shape, f"{path}: metal").astype(bool)
    if "expected_error_hu" not in arrays:
        return metal, None
    doubt = check_image(arrays["expected_error_hu"], shape, f"{path}: expected_error_hu")
    return metal, np.clip(np.nan_to_num(doubt), 0, np.iinfo(np.uint16).max).astype(np.uint16)


def _read_pair(folder: Path, after: Images, change: Images, number: int) -> tuple[Image, Image, Plane]:
    image, plane = after.read(number)
    difference, _ = change.read(number)
    if image.shape != difference.shape:
        raise InputRefused(f"{folder}: slice {number + 1} is {image.shape}, its difference {difference.shape}")
    return image, difference, plane
