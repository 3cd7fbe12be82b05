"""A result on disk as pictures to look at: what `acdnet reduce` wrote, or what `acdnet evaluate` wrote."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused
from acdnet.files import read_limited
from acdnet.scans.scan import DIFFERENCE, REDUCED
from acdnet.viewer.evaluation import Comparison
from acdnet.viewer.images import Images, open_images
from acdnet.viewer.layer import Image, Layer, Plane, Result, load_arrays

LARGEST_REPORT = 256 * 2**20
KEPT_BYTES = 32 * 2**20
"""How much of a result stays in memory."""
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
    try:
        report = json.loads(read_limited(path, LARGEST_REPORT))
    except (ValueError, RecursionError) as error:
        raise InputRefused(f"{path}: is not JSON ({error})") from error
    if not isinstance(report, dict) or not ("slices" in report or "tables" in report):
        raise InputRefused(f"{path}: is no report of acdnet reduce or acdnet evaluate")
    return report


class Reduction:
    """A scan before and after: the scan as it came is the reduced one minus the difference.

    That is exact where HU are whole. Differences are written in whole HU, so that HU with a fraction (float volumes, a
    RescaleSlope that is not whole) come out within half a HU; and a pixel that held no number looks as it does after.
    """

    layers = [Layer("before", "Before"), Layer("after", "After"), Layer("difference", "After - Before", True)]  # noqa: RUF012

    def __init__(self, folder: Path, report: dict[str, Any]) -> None:
        self.folder, self.report = folder, report
        after, change = (open_images(folder, kind) for kind in (REDUCED, DIFFERENCE))
        self.count = len(report["slices"])
        for kind, images in ((REDUCED, after), (DIFFERENCE, change)):
            if len(images) != self.count:
                raise InputRefused(f"{folder}: {kind} has {len(images)} slices, the report {self.count}")
        read = partial(_read_pair, folder, after, change)
        first, *_ = read(0)
        self._slice = lru_cache(max(1, KEPT_BYTES // (2 * first.nbytes)))(read)
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
        rows, columns = self.report.get("spacing_mm", [1.0, 1.0])
        return plane if plane.spacing_mm else replace(plane, spacing_mm=(float(rows), float(columns)))

    def metal(self, number: int) -> NDArray[np.bool_] | None:
        maps = self._maps(number)
        return None if maps is None else maps["metal"].astype(bool)

    def doubt(self, number: int) -> NDArray[np.uint16] | None:
        maps = self._maps(number)
        return None if maps is None or "expected_error_hu" not in maps else maps["expected_error_hu"]

    def _maps(self, number: int) -> dict[str, NDArray[Any]] | None:
        path = self.folder / "maps" / f"{number + 1:04d}.npz"
        return load_arrays(path) if path.is_file() else None

    def why_no_stages(self) -> str:
        label = str(self.report.get("method", ""))
        if not HASH.fullmatch(str(self.report.get("weights", ""))):
            return f"this result was made by {label}, which is no network; only ACDNet has stages"
        if not label.startswith("ACDNet"):
            return f"this result was made by {label}, another network; only ACDNet has stages"
        return ""


def _read_pair(folder: Path, after: Images, change: Images, number: int) -> tuple[Image, Image, Plane]:
    image, plane = after.read(number)
    difference, _ = change.read(number)
    if image.shape != difference.shape:
        raise InputRefused(f"{folder}: slice {number + 1} is {image.shape}, its difference {difference.shape}")
    return image, difference, plane
