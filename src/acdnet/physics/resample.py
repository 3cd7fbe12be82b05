"""Convert any slice to the square field of square pixels that the projector needs, and back.

A slice with square pixels is only padded with air. Others are resampled. The detail of the image Y that resampling
loses is added again, fading out towards the metal: X = back(x) + fade . (Y - back(there(Y))).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt, map_coordinates

from acdnet.units import AIR_HU, Image, Mask

SQUARE = 1e-3
"""Pixels whose sides differ by less count as square."""
FADE_PIXELS = 4.0


@dataclass(frozen=True)
class SquareGrid:
    """A square of size x size pixels of pixel_mm with a slice at its centre."""

    shape: tuple[int, int]
    spacing_mm: tuple[float, float]

    @property
    def pixel_mm(self) -> float:
        """The side of a square pixel: the smaller spacing of the slice."""
        return min(self.spacing_mm)

    @property
    def size(self) -> int:
        """The side of the field in pixels."""
        sides = [count * mm for count, mm in zip(self.shape, self.spacing_mm, strict=True)]
        return max(self.shape) if self.is_square else int(np.ceil(max(sides) / self.pixel_mm))

    @property
    def is_square(self) -> bool:
        """Whether the pixels of the slice are square."""
        rows, columns = self.spacing_mm
        return abs(rows / columns - 1) < SQUARE

    def to_square(self, image: Image, outside: float = AIR_HU) -> Image:
        """Resample an image to the square."""
        if self.is_square:
            if self.shape == (self.size, self.size):
                return image
            square = np.full((self.size, self.size), outside, np.float32)
            square[self._inner()] = image
            return square
        middle, centres = (self.size - 1) / 2, [(count - 1) / 2 for count in self.shape]
        axis = np.arange(self.size) - middle
        places = [axis * self.pixel_mm / mm + centre for mm, centre in zip(self.spacing_mm, centres, strict=True)]
        return _sample(image, places, outside)

    def mask_to_square(self, mask: Mask) -> Mask:
        """Resample a mask to the square; pixels covered by half or more are inside."""
        return np.asarray(self.to_square(mask.astype(np.float32), outside=0.0) >= 0.5)

    def from_square(self, square: Image) -> Image:
        """Resample an image of the square to the pixels of the slice."""
        if self.is_square:
            return square[self._inner()]
        middle = (self.size - 1) / 2
        places = [
            (np.arange(count) - (count - 1) / 2) * mm / self.pixel_mm + middle
            for count, mm in zip(self.shape, self.spacing_mm, strict=True)
        ]
        return _sample(square, [np.clip(place, 0, self.size - 1) for place in places], AIR_HU)

    def restore(self, square: Image, image: Image, square_image: Image, metal: Mask) -> Image:
        """Resample a changed square to the slice; away from metal, add the detail of the image lost by resampling."""
        if self.is_square:
            return self.from_square(square)
        away = distance_transform_edt(~metal) if metal.any() else np.full(metal.shape, np.inf)
        fade = np.clip(away / FADE_PIXELS, 0.0, 1.0)
        return np.asarray(self.from_square(square) + fade * (image - self.from_square(square_image)), np.float32)

    def _inner(self) -> tuple[slice, slice]:
        top, left = ((self.size - count) // 2 for count in self.shape)
        return slice(top, top + self.shape[0]), slice(left, left + self.shape[1])


def _sample(image: Image, places: list[NDArray[Any]], outside: float) -> Image:
    rows, columns = np.meshgrid(*places, indexing="ij")
    found: Image = map_coordinates(image, [rows, columns], order=1, mode="constant", cval=outside)
    return found
