"""The anatomy of a slice as implants need it: body, bone, teeth and region."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import (
    binary_closing,
    binary_erosion,
    binary_fill_holes,
    binary_opening,
    distance_transform_edt,
    label,
)

from acdnet.errors import InputRefused
from acdnet.units import Image, Mask

BODY_HU = -300.0
BONE_HU = 220.0
ENAMEL_HU = 1300.0
HEAD_MM = 240.0
"""A body wider than this is not a head."""
LUNG_HU = -550.0
LEAST_LUNG = 0.1
"""Smallest share of lung in a thorax."""
LEAST_HIP_MM2 = 80.0
"""Smallest area of thick bone on either side of a pelvis."""
AIR_HU = -500.0
"""Every slice contains some air darker than this."""
GRAIN_MM = 1.5
"""With pixels finer than this, noise looks like specks of bone, which are removed."""
THICK_MM = 5.0
"""Depth of bone that counts as thick."""
LEAST_BODY = 0.02
"""Smallest share of the slice that a body fills."""


@dataclass(frozen=True)
class Anatomy:
    """Body and bone of a slice; rows run from front to back, as in supine patients."""

    body: Mask
    bone: Mask
    thick_bone: Mask
    """Bone several millimetres below its surface: hips, shoulders, vertebrae, but not ribs."""
    teeth: Mask
    region: str
    """head, thorax, pelvis or abdomen."""
    pixel_mm: float
    top: float
    bottom: float
    left: float
    right: float

    def band(self, across: tuple[float, float], down: tuple[float, float]) -> Mask:
        """Return a rectangle in fractions of the body: `across` from the left, `down` from the front."""
        rows, columns = np.ogrid[: self.body.shape[0], : self.body.shape[1]]
        x = (columns - self.left) / max(self.right - self.left, 1.0)
        y = (rows - self.top) / max(self.bottom - self.top, 1.0)
        box: Mask = (x >= across[0]) & (x <= across[1]) & (y >= down[0]) & (y <= down[1])
        return box

    def deep(self, mm: float) -> Mask:
        """Erode the body by some millimetres; return all of it if nothing would be left."""
        steps = max(1, round(mm / self.pixel_mm))
        inner: Mask = binary_erosion(self.body, iterations=steps)
        return inner if inner.any() else self.body


def find_anatomy(hu: Image, pixel_mm: float, region: str = "") -> Anatomy:
    """Find the body, its bones and, unless it is given, the region; refuse a slice without a body."""
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


def _region(hu: Image, anatomy: Anatomy) -> str:
    """Classify head, thorax, pelvis or abdomen by width, lungs and thick bone on both sides."""
    if (anatomy.right - anatomy.left) * anatomy.pixel_mm < HEAD_MM:
        return "head"
    if (hu[anatomy.body] < LUNG_HU).mean() > LEAST_LUNG:
        return "thorax"
    sides = [anatomy.thick_bone & anatomy.band(side, (0.1, 0.9)) for side in ((0.0, 0.38), (0.62, 1.0))]
    hips = min(int(side.sum()) for side in sides) * anatomy.pixel_mm**2
    return "pelvis" if hips > LEAST_HIP_MM2 else "abdomen"
