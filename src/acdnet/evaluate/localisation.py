"""Scores of finding metal: objects found, outlines, and false metal in slices that have none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy import ndimage

from acdnet.methods.metal import overlap
from acdnet.units import Mask

LEAST_PIXELS = 20
"""Smaller objects are not counted."""
LEAST_SHARE = 0.3
"""An object is found if this share of it is marked."""
EIGHT = np.ones((3, 3), bool)


@dataclass
class Localisation:
    """Scores over slices."""

    dice: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    """Pixels of the metal in the slices of `dice`."""
    objects: int = 0
    missed: int = 0
    clean: int = 0
    false: int = 0

    def add(self, found: Mask, metal: Mask) -> None:
        """Count a slice."""
        if not metal.any():
            self.clean += 1
            self.false += bool(found.any())
            return
        pieces, count = ndimage.label(metal, EIGHT)
        for number in range(1, count + 1):
            piece = pieces == number
            if piece.sum() >= LEAST_PIXELS:
                self.objects += 1
                self.missed += bool(found[piece].mean() < LEAST_SHARE)
        if metal.sum() >= LEAST_PIXELS:
            self.dice.append(overlap(found, metal))
            self.sizes.append(int(metal.sum()))

    def scores(self) -> dict[str, float]:
        """Return the scores by name."""
        values: dict[str, float] = {}
        if self.dice:
            values["dice"] = float(np.mean(self.dice))
        if self.objects:
            values["objects found, %"] = 100 * (1 - self.missed / self.objects)
        if self.clean:
            values["false metal, % of slices"] = 100 * self.false / self.clean
        return {name: round(value, 3) for name, value in values.items()}


def total(parts: Iterable[Localisation]) -> Localisation:
    """Add up scores."""
    whole = Localisation()
    for part in parts:
        whole.dice += part.dice
        whole.sizes += part.sizes
        for name in ("objects", "missed", "clean", "false"):
            setattr(whole, name, getattr(whole, name) + getattr(part, name))
    return whole
