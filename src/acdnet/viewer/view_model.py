"""The interface between results and the page: slices, their layers in HU, and their orientation in the patient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from acdnet.io.slices import Image, Mask

ErrorMap = NDArray[np.uint16]
Labels = NDArray[np.uint16]
LETTERS = (("R", "L"), ("A", "P"), ("F", "H"))
"""Letters for the negative and positive direction of each DICOM patient axis: right/left, anterior/posterior,
feet/head."""
MIN_COMPONENT = 0.35
"""Smallest direction cosine that gets a letter; a second letter appears from a rotation of 20 degrees."""


@dataclass(frozen=True)
class Layer:
    """One of the images of every slice."""

    name: str
    label: str
    is_difference: bool = False


@dataclass(frozen=True)
class Plane:
    """Geometry and presentation of a slice."""

    spacing_mm: tuple[float, float] | None = None
    """Row and column spacing, if known."""
    edges: tuple[str, str, str, str] | None = None
    """Anatomical directions at the top, right, bottom and left edge, if known."""
    inverted: bool = False
    """True if large values are displayed dark (MONOCHROME1)."""


class ViewModel(Protocol):
    """A result as the page shows it."""

    layers: list[Layer]
    report: dict[str, Any]
    count: int
    """Number of slices."""

    def describe(self) -> dict[str, Any]:
        """Return everything the page needs before it loads a slice."""
        ...

    def image(self, number: int, layer: str) -> Image:
        """Return a layer of slice `number`, counted from 0, in HU."""
        ...

    def plane(self, number: int) -> Plane: ...

    def metal(self, number: int) -> Mask | None: ...

    def expected_error_hu(self, number: int) -> ErrorMap | None: ...

    def objects(self, number: int) -> Labels | None:
        """Return the numbers of the objects in the pixels of a slice, 0 where there is none."""
        ...

    def why_no_stages(self) -> str:
        """Return why this result has no network stages; empty if ACDNet produced it."""
        ...

    def why_no_stages_of(self, number: int) -> str:
        """Return why one slice has no network stages; empty if it has."""
        ...


def edges(across: NDArray[Any], down: NDArray[Any]) -> tuple[str, str, str, str]:
    """Name the edges of a slice from the unit vectors of its rows and columns in patient coordinates (LPS)."""
    return _letters(-down), _letters(across), _letters(down), _letters(-across)


def _letters(direction: NDArray[Any]) -> str:
    order = sorted(range(3), key=lambda axis: -abs(float(direction[axis])))
    return "".join(LETTERS[axis][int(direction[axis] > 0)] for axis in order if abs(direction[axis]) >= MIN_COMPONENT)
