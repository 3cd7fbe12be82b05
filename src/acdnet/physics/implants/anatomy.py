"""What an implant needs to know of a slice: where the body is, where its bones are, which way is front."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import (
    binary_closing,
    binary_erosion,
    binary_fill_holes,
    binary_opening,
    distance_transform_edt,
    label,
)

from acdnet.errors import InputRefused

Mask = NDArray[np.bool_]

BODY_HU = -300.0
BONE_HU = 220.0
ENAMEL_HU = 1300.0
HEAD_MM = 240.0
"""A body wider than this is not a head."""
LUNG_HU = -550.0
LEAST_LUNG = 0.1
"""Share of the body that is lung in a thorax."""
LEAST_HIP_MM2 = 80.0
"""Area of thick bone on either side of a pelvis."""
AIR_HU = -500.0
"""Somewhere in a slice there is air."""
GRAIN_MM = 1.5
"""Pixels finer than this show noise as specks of bone; specks are removed."""
THICK_MM = 5.0
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
    region: str
    """head, thorax, pelvis or abdomen."""
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


def find_anatomy(hu: NDArray[np.float32], pixel_mm: float, region: str = "") -> Anatomy:
    """Find the body, the largest thing denser than air, and its bones; refuse a picture without a body.

    The region is found as well, unless it is known.
    """
    if np.percentile(hu, 0.5) > AIR_HU:
        raise InputRefused(f"there is no air in the slice (lowest value {hu.min():g}). Are the values in HU?")
    regions, count = label(binary_opening(hu > BODY_HU, iterations=2))
    sizes = np.bincount(regions.ravel(), minlength=2)[1:]
    if count == 0 or sizes.max() < LEAST_BODY * hu.size:
        raise InputRefused("no body found in the slice: nothing large is denser than air. Are the values in HU?")
    body = binary_fill_holes(regions == 1 + int(sizes.argmax()))
    rows, columns = np.nonzero(body.any(1))[0], np.nonzero(body.any(0))[0]
    dense = (hu > BONE_HU) & body
    bone = binary_opening(dense) if pixel_mm < GRAIN_MM else dense
    thick = distance_transform_edt(binary_fill_holes(binary_closing(bone))) * pixel_mm > THICK_MM
    made = Anatomy(body, bone, thick, bone, "", pixel_mm, rows[0], rows[-1], columns[0], columns[-1])
    region = region or _region(hu, made)
    teeth = (hu > ENAMEL_HU) & body if region == "head" else np.zeros_like(body)
    return replace(made, region=region, teeth=teeth)


def _region(hu: NDArray[np.float32], anatomy: Anatomy) -> str:
    """Tell head, thorax, pelvis and abdomen apart by width, lungs and thick bone on both sides."""
    if (anatomy.right - anatomy.left) * anatomy.pixel_mm < HEAD_MM:
        return "head"
    if (hu[anatomy.body] < LUNG_HU).mean() > LEAST_LUNG:
        return "thorax"
    sides = [anatomy.thick_bone & anatomy.band(side, (0.1, 0.9)) for side in ((0.0, 0.38), (0.62, 1.0))]
    hips = min(int(side.sum()) for side in sides) * anatomy.pixel_mm**2
    return "pelvis" if hips > LEAST_HIP_MM2 else "abdomen"
