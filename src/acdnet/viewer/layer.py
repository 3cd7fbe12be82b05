"""What a result shows: slices, each with several images of one size (layers) in HU, and how they lie in the patient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.float32]
LETTERS = (("R", "L"), ("A", "P"), ("F", "H"))
"""What lies against and along the axes of a patient in DICOM: right and left, front and back, feet and head."""
SLANT = 0.35
"""How much of a direction has to go along an axis to be named by its letter; a second one at 20 degrees."""


@dataclass(frozen=True)
class Layer:
    """One of the images of every slice."""

    name: str
    label: str
    is_difference: bool = False


@dataclass(frozen=True)
class Plane:
    """How a slice lies and is shown."""

    spacing_mm: tuple[float, float] | None = None
    """Distance of rows and of columns, where it is known."""
    edges: tuple[str, str, str, str] | None = None
    """What of the patient lies at the top, the right, the bottom and the left, where it is known."""
    inverted: bool = False
    """Whether large numbers are dark (MONOCHROME1)."""


class Result(Protocol):
    """What the page shows."""

    layers: list[Layer]
    report: dict[str, Any]
    count: int
    """How many slices there are."""

    def describe(self) -> dict[str, Any]:
        """Return what the page needs to know before it loads a slice."""
        ...

    def image(self, number: int, layer: str) -> Image:
        """Return a layer of slice `number`, from 0, in HU."""
        ...

    def plane(self, number: int) -> Plane: ...

    def metal(self, number: int) -> NDArray[np.bool_] | None: ...

    def doubt(self, number: int) -> NDArray[np.uint16] | None:
        """Return the expected error in HU."""
        ...

    def why_no_stages(self) -> str:
        """Return why no network can be looked into; nothing where ACDNet made the result."""
        ...

    def why_not_this(self, number: int) -> str:
        """Return why the stages of one slice are not shown; nothing where they made its result."""
        ...


def edges(across: NDArray[Any], down: NDArray[Any]) -> tuple[str, str, str, str]:
    """Name the edges of a slice by the directions of its rows and columns in the patient: LPS, of length 1."""
    return _letters(-down), _letters(across), _letters(down), _letters(-across)


def _letters(direction: NDArray[Any]) -> str:
    order = sorted(range(3), key=lambda axis: -abs(float(direction[axis])))
    return "".join(LETTERS[axis][int(direction[axis] > 0)] for axis in order if abs(direction[axis]) >= SLANT)
