"""Simple shapes in millimetres around a point of a slice; x points right, y to the back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acdnet.units import Mask


@dataclass(frozen=True)
class Sheet:
    """The coordinates of all pixels in mm, relative to a chosen origin and rotated."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]

    @classmethod
    def at(cls, shape: tuple[int, int], row: float, column: float, pixel_mm: float, turn: float = 0.0) -> Sheet:
        """Set the origin at a pixel and rotate the x axis by `turn` radians towards y."""
        dy, dx = np.ogrid[: shape[0], : shape[1]]
        x, y = (dx - column) * pixel_mm, (dy - row) * pixel_mm
        return cls(x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn))

    def moved(self, x: float, y: float, turn: float = 0.0) -> Sheet:
        """Move the origin to (x, y) and rotate the axes."""
        dx, dy = self.x - x, self.y - y
        return Sheet(dx * np.cos(turn) + dy * np.sin(turn), dy * np.cos(turn) - dx * np.sin(turn))

    def ellipse(self, a: float, b: float) -> Mask:
        """Return the ellipse with half axes a and b."""
        mask: Mask = (self.x / a) ** 2 + (self.y / b) ** 2 <= 1.0
        return mask

    def disc(self, radius: float) -> Mask:
        """Return a disc."""
        return self.ellipse(radius, radius)

    def box(self, width: float, height: float) -> Mask:
        """Return a rectangle."""
        mask: Mask = (np.abs(self.x) <= width / 2) & (np.abs(self.y) <= height / 2)
        return mask

    def rod(self, length: float, thickness: float) -> Mask:
        """Return a bar with round ends, from the origin along x."""
        beyond = self.x - np.clip(self.x, 0.0, length)
        mask: Mask = beyond**2 + self.y**2 <= (thickness / 2) ** 2
        return mask

    def screw(self, length: float, core: float, thread: float, pitch: float) -> Mask:
        """Return a screw from the origin along x; its thickness varies with the thread."""
        wave = 0.5 + 0.5 * np.cos(2 * np.pi * self.x / pitch)
        half = 0.5 * (core + (thread - core) * wave) * np.clip((length - self.x) / (0.25 * length), 0.3, 1.0)
        mask: Mask = (np.abs(self.y) <= half) & (self.x >= 0) & (self.x <= length)
        return mask

    def arc(self, radius: float, thickness: float, middle: float, width: float) -> Mask:
        """Return an arc of `width` radians around the direction `middle`."""
        away = np.hypot(self.x, self.y)
        angle = np.abs((np.arctan2(self.y, self.x) - middle + np.pi) % (2 * np.pi) - np.pi)
        mask: Mask = (np.abs(away - radius) <= thickness / 2) & (angle <= width / 2)
        return mask
