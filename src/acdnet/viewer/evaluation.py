"""What `acdnet evaluate` wrote as pictures to look at: some slices as every method left them, and what is wrong."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused
from acdnet.viewer.layer import Image, Layer, Plane
from acdnet.viewer.saved import check_image, load_arrays

CASES = "cases.npz"
LARGEST_CASES = 2**30
"""Bytes of all images together when they are unpacked."""
INPUT = "Input"
"""What the tables call the slice as it was scanned."""


class Comparison:
    """Some slices of an evaluation: each method, the truth, and the differences of methods from truth and input."""

    def __init__(self, folder: Path, report: dict[str, Any]) -> None:
        self.report = report
        path = folder / CASES
        if not path.is_file():
            raise InputRefused(f"{folder}: has no {CASES}; evaluate again with this version to look at its slices")
        self.arrays = load_arrays(path, LARGEST_CASES)
        self.names, self.methods = (_words(self.arrays.get(name), f"{path}: {name}") for name in ("cases", "methods"))
        self.shape, self.count = _check_images(self.arrays, len(self.names), len(self.methods), path), len(self.names)
        self.pairs = self._pairs()
        labels = {f"m{k}": name for k, name in enumerate(self.methods)} | {"clean": "Truth"}
        differences = [Layer(name, f"{labels[a]} - {labels[b]}", True) for name, (a, b) in self.pairs.items()]
        self.layers = [*(Layer(name, label) for name, label in labels.items()), *differences]

    def _pairs(self) -> dict[str, tuple[str, str]]:
        """Return which layers are subtracted: the truth from every method, the input from every other one."""
        methods = [f"m{k}" for k in range(len(self.methods))]
        found = {f"{one}-clean": (one, "clean") for one in methods}
        if INPUT in self.methods:
            begin = methods[self.methods.index(INPUT)]
            found |= {f"{one}-{begin}": (one, begin) for one in methods if one != begin}
        return found

    def describe(self) -> dict[str, Any]:
        slices = [
            {"number": n + 1, "status": name, "metal_pixels": int(self.arrays[f"{n}/metal"].sum())}
            for n, name in enumerate(self.names)
        ]
        last = f"m{len(self.methods) - 1}"
        return {
            "kind": "evaluation",
            "title": f"{self.report.get('data', '')}, {self.report.get('protocol', '')}",
            "layers": [vars(layer) for layer in self.layers],
            "first": ["m0", last, "clean", f"{last}-clean"],
            "swipe": ["m0", last],
            "shape": list(self.shape),
            "slices": slices,
            "cautions": [],
            "tables": self.report.get("tables", []),
        }

    def image(self, number: int, layer: str) -> Image:
        if layer in self.pairs:
            one, other = self.pairs[layer]
            return self.image(number, one) - self.image(number, other)
        return np.asarray(self.arrays[f"{number}/{layer}"], np.float32)

    def plane(self, number: int) -> Plane:
        """Return the pixel size; the benchmark's protocol knows none, nor did earlier versions write it."""
        known = self.arrays.get("pixel_mm")
        known = None if known is None or known.shape != (self.count,) or known.dtype.kind not in "iuf" else known
        mm = math.nan if known is None else float(known[number])
        return Plane((mm, mm) if math.isfinite(mm) and mm > 0 else None)

    def metal(self, number: int) -> NDArray[np.bool_] | None:
        return np.asarray(self.arrays[f"{number}/metal"], bool)

    def doubt(self, number: int) -> NDArray[np.uint16] | None:  # noqa: ARG002
        return None

    def why_no_stages(self) -> str:
        return "an evaluation keeps the images of methods, not what its networks did; reduce a scan to look inside"

    def why_not_this(self, number: int) -> str:  # noqa: ARG002
        return self.why_no_stages()


def _words(values: NDArray[Any] | None, what: str) -> list[str]:
    if values is None or values.ndim != 1 or not values.size:
        raise InputRefused(f"{what} are missing")
    return [str(value) for value in values]


def _check_images(arrays: dict[str, NDArray[Any]], cases: int, methods: int, path: Path) -> tuple[int, ...]:
    """Return the size of all images; refuse if one is missing or of another size."""
    first = arrays.get("0/clean")
    if first is None or first.ndim != 2 or not first.size:
        raise InputRefused(f"{path}: the truth of its first slice is missing")
    for n in range(cases):
        for name in ("clean", "metal", *(f"m{k}" for k in range(methods))):
            check_image(arrays.get(f"{n}/{name}"), first.shape, f"{path}: {n}/{name}")
    return first.shape
