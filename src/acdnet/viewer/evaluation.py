"""What `acdnet evaluate` wrote as pictures to look at: some slices as every method left them, and what is wrong."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused
from acdnet.viewer.layer import Image, Layer, Plane, load_arrays

CASES = "cases.npz"
INPUT = "Input"
"""What the tables call the slice as it was scanned."""


class Comparison:
    """Some slices of an evaluation: each method, the truth, and the differences of methods from truth and input."""

    def __init__(self, folder: Path, report: dict[str, Any]) -> None:
        self.report = report
        path = folder / CASES
        if not path.is_file():
            raise InputRefused(f"{folder}: has no {CASES}; evaluate again with this version to look at its slices")
        self.arrays = load_arrays(path)
        try:
            self.names = [str(name) for name in self.arrays["cases"]]
            self.methods = [str(name) for name in self.arrays["methods"]]
            shapes = {self.arrays[f"{n}/clean"].shape for n in range(len(self.names))}
        except KeyError as error:
            raise InputRefused(f"{path}: is not whole ({error})") from error
        if len(shapes) != 1:
            raise InputRefused(f"{path}: has slices of {len(shapes)} sizes; they are of one")
        self.shape, self.count = shapes.pop(), len(self.names)
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
        mm = float(known[number]) if known is not None and number < known.size else math.nan
        return Plane((mm, mm) if math.isfinite(mm) and mm > 0 else None)

    def metal(self, number: int) -> NDArray[np.bool_] | None:
        return np.asarray(self.arrays[f"{number}/metal"], bool)

    def doubt(self, number: int) -> NDArray[np.uint16] | None:  # noqa: ARG002
        return None

    def why_no_stages(self) -> str:
        return "an evaluation keeps the images of methods, not what its networks did; reduce a scan to look inside"
