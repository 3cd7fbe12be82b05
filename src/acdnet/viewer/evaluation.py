"""The output of `acdnet evaluate` as a view model: selected slices, corrected by every method, with their errors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused
from acdnet.io.slices import Image, Mask
from acdnet.viewer.safe_read import check_image, load_arrays
from acdnet.viewer.view_model import ErrorMap, Labels, Layer, Plane

CASES = "cases.npz"
MAX_CASES_BYTES = 2**30
"""Total uncompressed size of all images."""
INPUT = "Input"
"""Label of the uncorrected slice in the tables."""


class EvaluationResult:
    """Slices of an evaluation: every method, the truth, and the differences from truth and input."""

    def __init__(self, folder: Path, report: dict[str, Any]) -> None:
        self.report = report
        path = folder / CASES
        if not path.is_file():
            raise InputRefused(f"{folder}: {CASES} is missing; run acdnet evaluate again to view its slices")
        self.arrays = load_arrays(path, MAX_CASES_BYTES)
        self.names, self.methods = (_texts(self.arrays.get(name), f"{path}: {name}") for name in ("cases", "methods"))
        self.shape, self.count = _check_images(self.arrays, len(self.names), len(self.methods), path), len(self.names)
        self.pairs = self._pairs()
        labels = {f"m{k}": name for k, name in enumerate(self.methods)} | {"clean": "Truth"}
        differences = [Layer(name, f"{labels[a]} - {labels[b]}", True) for name, (a, b) in self.pairs.items()]
        self.layers = [*(Layer(name, label) for name, label in labels.items()), *differences]

    def _pairs(self) -> dict[str, tuple[str, str]]:
        """Return the difference layers: every method minus the truth, every other method minus the input."""
        methods = [f"m{k}" for k in range(len(self.methods))]
        pairs = {f"{method}-clean": (method, "clean") for method in methods}
        if INPUT in self.methods:
            uncorrected = methods[self.methods.index(INPUT)]
            pairs |= {f"{m}-{uncorrected}": (m, uncorrected) for m in methods if m != uncorrected}
        return pairs

    def describe(self) -> dict[str, Any]:
        slices = [
            {"number": n + 1, "status": name, "metal_pixels": int(np.count_nonzero(self.arrays[f"{n}/metal"]))}
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
            first, second = self.pairs[layer]
            return self.image(number, first) - self.image(number, second)
        return np.asarray(self.arrays[f"{number}/{layer}"], np.float32)

    def plane(self, number: int) -> Plane:
        """Return the pixel size; the benchmark protocol has none."""
        sizes = self.arrays.get("pixel_mm")
        if sizes is None or sizes.shape != (self.count,) or sizes.dtype.kind not in "iuf":
            return Plane()
        mm = float(sizes[number])
        return Plane((mm, mm) if math.isfinite(mm) and mm > 0 else None)

    def metal(self, number: int) -> Mask | None:
        return np.asarray(self.arrays[f"{number}/metal"], bool)

    def expected_error_hu(self, number: int) -> ErrorMap | None:  # noqa: ARG002
        return None

    def objects(self, number: int) -> Labels | None:  # noqa: ARG002
        return None

    def why_no_stages(self) -> str:
        return "an evaluation stores images only; open the output of acdnet reduce to see the network stages"

    def why_no_stages_of(self, number: int) -> str:  # noqa: ARG002
        return self.why_no_stages()


def _texts(values: NDArray[Any] | None, what: str) -> list[str]:
    if values is None or values.ndim != 1 or not values.size:
        raise InputRefused(f"{what}: is missing or empty; run acdnet evaluate again")
    try:
        texts = [str(value) for value in values]
        "".join(texts).encode()
    except (SystemError, ValueError) as error:  # numbers that are no characters
        raise InputRefused(f"{what}: contains what is no text; run acdnet evaluate again") from error
    return texts


def _check_images(arrays: dict[str, NDArray[Any]], cases: int, methods: int, path: Path) -> tuple[int, ...]:
    """Return the common size of all images; refuse missing images and other sizes."""
    first = arrays.get("0/clean")
    if first is None or first.ndim != 2 or not first.size:
        raise InputRefused(f"{path}: 0/clean (the truth of the first slice) is missing")
    for n in range(cases):
        for name in ("clean", "metal", *(f"m{k}" for k in range(methods))):
            check_image(arrays.get(f"{n}/{name}"), first.shape, f"{path}: {n}/{name}")
    return first.shape
