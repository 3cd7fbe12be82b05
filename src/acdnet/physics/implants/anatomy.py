"""What an implant needs to know of a slice: where the body is, where its bones are, which way is front."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_erosion, binary_fill_holes, binary_opening, label

from acdnet.errors import InputRefused

Mask = NDArray[np.bool_]

BODY_HU = -300.0
BONE_HU = 220.0
ENAMEL_HU = 1300.0
HEAD_MM = 240.0
"""A body wider than this is not a head."""
THICK_MM = 3.5
"""Depth of bone that counts as thick."""
LEAST_BODY = 0.02
"""Share of the picture that a body fills at least."""


@dataclass(frozen=True)
class Anatomy:
    """Body and bone of a slice; rows run from front to back, as images of patients on their back do."""

    body: Mask
    bone: Mask
    thick_bone: Mask
    """Bone that is several millimetres away from anything else: hips, shoulders, vertebrae, but not ribs."""
    teeth: Mask
    pixel_mm: float
    top: float
    bottom: float
    left: float
    right: float

    def band(self, across: tuple[float, float], down: tuple[float, float]) -> Mask:
        """Return a rectangle in shares of the body: across from the left, down from the front."""
        rows, columns = np.ogrid[: self.body.shape[0], : self.body.shape[1]]
        x = (columns - self.left) / max(self.right - self.left, 1.0)
        y = (rows - self.top) / max(self.bottom - self.top, 1.0)
        box: Mask = (x >= across[0]) & (x <= across[1]) & (y >= down[0]) & (y <= down[1])
        return box

    def deep(self, mm: float) -> Mask:
        """Return the body without its outer `mm` millimetres, or all of it where nothing else would be left."""
        steps = max(1, round(mm / self.pixel_mm))
        inner: Mask = binary_erosion(self.body, iterations=steps)
        return inner if inner.any() else self.body


def find_anatomy(hu: NDArray[np.float32], pixel_mm: float) -> Anatomy:
    """Find the body, the largest thing denser than air, and its bones; refuse a picture without a body."""
    regions, count = label(binary_opening(hu > BODY_HU, iterations=2))
    sizes = np.bincount(regions.ravel(), minlength=2)[1:]
    if count == 0 or sizes.max() < LEAST_BODY * hu.size:
        raise InputRefused("no body found in the slice: nothing large is denser than air. Are the values in HU?")
    body = binary_fill_holes(regions == 1 + int(sizes.argmax()))
    rows, columns = np.nonzero(body.any(1))[0], np.nonzero(body.any(0))[0]
    bone = binary_opening((hu > BONE_HU) & body)
    thick = binary_erosion(binary_fill_holes(bone), iterations=max(1, int(THICK_MM / pixel_mm)))
    head = (columns[-1] - columns[0]) * pixel_mm < HEAD_MM
    teeth = (hu > ENAMEL_HU) & body if head else np.zeros_like(body)
    return Anatomy(body, bone, thick, teeth, pixel_mm, rows[0], rows[-1], columns[0], columns[-1])
