"""Open a result folder, and the output of `acdnet reduce` as a view model."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused
from acdnet.io.scan import DIFFERENCE, REDUCED
from acdnet.io.slices import Image, Mask
from acdnet.limits import check_pixel_mm
from acdnet.viewer.evaluation import EvaluationResult
from acdnet.viewer.images import Images, open_images
from acdnet.viewer.objects import MAX_REPORT_BYTES, REPORT, read_objects
from acdnet.viewer.safe_read import check_image, load_arrays, read_json, refuse_links
from acdnet.viewer.view_model import ErrorMap, Labels, Layer, Plane, ViewModel

MAX_MAPS_BYTES = 64 * 2**20
CACHE_BYTES, MAP_CACHE_BYTES = 32 * 2**20, 8 * 2**20
"""Memory for slices and for their masks, error maps and objects."""
BYTES_PER_PIXEL = 1 + 2 + 2
"""Of these maps."""
HASH = re.compile(r"[0-9a-f]{64}")


def open_result(folder: Path) -> ViewModel:
    """Open the output of `reduce` or `evaluate`; refuse incomplete folders."""
    if not folder.is_dir():
        raise InputRefused(f"{folder}: no such folder; give the output of acdnet reduce or acdnet evaluate")
    refuse_links(folder)
    report = _read_report(folder)
    return ReductionResult(folder, report) if "slices" in report else EvaluationResult(folder, report)


def _read_report(folder: Path) -> dict[str, Any]:
    path = folder / REPORT
    if not path.is_file():
        raise InputRefused(f"{folder}: has no {REPORT}; give the output of acdnet reduce or acdnet evaluate")
    report = read_json(path, MAX_REPORT_BYTES)
    if not isinstance(report, dict) or not ("slices" in report or "tables" in report):
        raise InputRefused(f"{path}: is not a report of acdnet reduce or acdnet evaluate")
    slices = report.get("slices", [{}])
    if not isinstance(slices, list) or not slices or not all(isinstance(entry, dict) for entry in slices):
        raise InputRefused(f"{path}: slices must be a list with one object per slice")
    kinds = {"cautions": list, "tables": list, "counts": dict, "spacing_mm": list}
    for name, kind in kinds.items():
        if not isinstance(report.get(name, kind()), kind):
            raise InputRefused(f"{path}: {name} is a {type(report[name]).__name__}, not a {kind.__name__}")
    return report


def _spacing(report: dict[str, Any], folder: Path) -> tuple[float, float]:
    """Return the row and column spacing that the scan was reduced with."""
    values = report.get("spacing_mm", [1.0, 1.0])
    if len(values) != 2 or not all(type(mm) in (int, float) for mm in values):
        raise InputRefused(f"{folder}/report.json: spacing_mm is {values!s:.60}; two positive numbers are needed")
    check_pixel_mm(tuple(values), f"{folder}/report.json: spacing_mm")
    return float(values[0]), float(values[1])


class ReductionResult:
    """A scan before and after reduction; the original is the reduced scan minus the difference.

    This is exact for integer HU. Differences are stored in whole HU, so that fractional HU (float volumes, a fractional
    RescaleSlope) are within half a HU. Pixels that were not finite in the scan show their corrected value.
    """

    layers = [Layer("before", "Before"), Layer("after", "After"), Layer("difference", "After - Before", True)]  # noqa: RUF012

    def __init__(self, folder: Path, report: dict[str, Any]) -> None:
        self.folder, self.report, self.spacing_mm = folder, report, _spacing(report, folder)
        after, change = (open_images(folder, kind) for kind in (REDUCED, DIFFERENCE))
        self.count = len(report["slices"])
        self.found = read_objects(report, self.count, f"{folder}/{REPORT}")
        for kind, images in ((REDUCED, after), (DIFFERENCE, change)):
            if len(images) != self.count:
                raise InputRefused(f"{folder}: {kind} has {len(images)} slices, report.json {self.count}")
        read = partial(_read_pair, folder, after, change)
        first, *_ = read(0)
        self._slice = lru_cache(max(1, CACHE_BYTES // (2 * first.nbytes)))(read)
        self._maps = lru_cache(max(1, MAP_CACHE_BYTES // (BYTES_PER_PIXEL * first.size)))(
            partial(_read_maps, folder, self._slice, len(self.found))
        )
        self.shape = first.shape

    def describe(self) -> dict[str, Any]:
        keep = ("number", "status", "metal_pixels", "mean_change_hu", "max_change_hu", "expected_error_hu", "reason")
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
            "objects": [one.to_dict() for one in self.found],
        }

    def image(self, number: int, layer: str) -> Image:
        after, change, _ = self._slice(number)
        return {"after": after, "difference": change}[layer] if layer != "before" else after - change

    def plane(self, number: int) -> Plane:
        """Return the geometry of a slice; formats without a pixel size use that of the report."""
        plane = self._slice(number)[2]
        return plane if plane.spacing_mm else replace(plane, spacing_mm=self.spacing_mm)

    def metal(self, number: int) -> Mask | None:
        return self._maps(number)[0]

    def expected_error_hu(self, number: int) -> ErrorMap | None:
        return self._maps(number)[1]

    def objects(self, number: int) -> Labels | None:
        return self._maps(number)[2]

    def why_no_stages(self) -> str:
        label = str(self.report.get("method", ""))
        if not HASH.fullmatch(str(self.report.get("weights", ""))):
            return f"this result was made by {label}, which is not a network; only ACDNet has stages"
        if not label.startswith("ACDNet"):
            return f"this result was made by {label}, another network; only ACDNet has stages"
        return ""

    def why_no_stages_of(self, number: int) -> str:
        from acdnet.reduction.slice_report import PASSED

        entry, metal = self.report["slices"][number], self.metal(number)
        if entry.get("status") == PASSED:
            return f"slice {number + 1} was not reduced: {entry.get('reason') or 'no reason given'}"
        if entry.get("reason"):
            return f"slice {number + 1} was reduced without some of its metal; its stages cannot be shown"
        if metal is None or not metal.any():
            return f"slice {number + 1} has no metal, so the network did not process it"
        return ""


Maps = tuple[Mask | None, ErrorMap | None, Labels | None]
"""Metal, expected error in HU, and numbers of objects; slices where nothing may be metal have none."""


def _read_maps(folder: Path, read: Callable[[int], tuple[Image, Image, Plane]], found: int, number: int) -> Maps:
    path = folder / "maps" / f"{number + 1:04d}.npz"
    if not path.is_file():
        return None, None, None
    arrays, shape = load_arrays(path, MAX_MAPS_BYTES), read(number)[0].shape
    metal = check_image(arrays.get("metal"), shape, f"{path}: metal").astype(bool)
    error: ErrorMap | None = None
    if "expected_error_hu" in arrays:
        values = check_image(arrays["expected_error_hu"], shape, f"{path}: expected_error_hu")
        error = np.clip(np.nan_to_num(values), 0, np.iinfo(np.uint16).max).astype(np.uint16)
    return metal, error, _labels(arrays, shape, found, path)


def _labels(arrays: dict[str, NDArray[Any]], shape: tuple[int, ...], found: int, path: Path) -> Labels | None:
    if "objects" not in arrays:
        return None
    labels = check_image(arrays["objects"], shape, f"{path}: objects")
    if labels.dtype.kind not in "ui" or labels.min() < 0 or labels.max() > found:
        raise InputRefused(f"{path}: objects must hold whole numbers from 0 to {found}, the number of objects")
    return labels.astype(np.uint16)


def _read_pair(folder: Path, after: Images, change: Images, number: int) -> tuple[Image, Image, Plane]:
    image, plane = after.read(number)
    difference, _ = change.read(number)
    if plane.spacing_mm:
        check_pixel_mm(plane.spacing_mm, f"{folder}: the pixel size of slice {number + 1}")
    if image.shape != difference.shape:
        raise InputRefused(f"{folder}: slice {number + 1} is {image.shape}, but its difference {difference.shape}")
    return image, difference, plane
