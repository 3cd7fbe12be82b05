"""The record of a slice between reading and writing."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.float32]
Mask = NDArray[np.bool_]
Change = NDArray[np.floating[Any]]
"""A change in HU; double precision keeps `slice + change` exact."""

NO_PIXELS = np.zeros((0, 0), bool)
"""Stands for an empty mask of any size."""


@dataclass(frozen=True)
class Slice:
    """One slice of a scan as stored in its file."""

    hu: Image
    """HU; padding is air. Values that are not finite are kept."""
    spacing_mm: tuple[float, float]
    """Row and column spacing."""
    fixed: Mask = field(default_factory=lambda: NO_PIXELS)
    """Padding: pixels without image data, which must not change."""
    ceiling_hu: float = math.inf
    """Largest HU that the stored type can hold."""
    step_hu: float = 0.0
    """Smallest difference that the stored type can hold; 0 for floating-point numbers."""
    sha256: str = ""
    """Hash of the file or of the pixels, if known."""

    def __post_init__(self) -> None:
        if self.fixed is NO_PIXELS:
            object.__setattr__(self, "fixed", np.zeros(self.hu.shape, bool))
