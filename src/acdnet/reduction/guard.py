"""Safety checks: which scans are in scope, which slices are not reduced, and how much a slice changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_dilation, binary_propagation, distance_transform_edt

from acdnet.errors import InputRefused, OutOfScope
from acdnet.io.slices import Change, Mask, Slice
from acdnet.units import TWELVE_BITS_HU

MIN_SIDE, MIN_FIELD_MM = 64, 100.0
SCOPE_PIXEL_MM = (0.15, 3.0)
"""Pixel sizes that the methods are designed for."""
MAX_ANISOTROPY = 2.0
MAX_METAL_SHARE = 0.30
"""Share of the body that can be metal; more means a wrong threshold or not a patient."""
BODY_HU = -500.0
NEAR_MM, FAR_MM = 10.0, 50.0
MAX_FAR_CHANGE_HU = 20.0
"""A larger mean change beyond `FAR_MM` from metal causes a warning."""
MAX_SHIFT_HU = 10.0
"""A larger signed mean change of soft tissue causes a warning."""
SOFT_HU = (-200.0, 200.0)
SATURATED_PIXELS = 2
"""Metal pixels at the largest possible value that make a slice count as saturated."""


@dataclass(frozen=True)
class ChangeStatistics:
    """How much a slice changed."""

    changed_pixels: int
    mean_change_hu: float
    """Mean of |change| in the body outside the metal."""
    max_change_hu: float
    far_change_hu: float | None
    """Mean of |change| in the body more than 5 cm from metal; None if there is no such pixel."""
    soft_shift_hu: float
    """Signed mean change of soft tissue more than 1 cm from metal."""


def check_scope(slice_: Slice, number: int) -> None:
    """Refuse slices that the methods are not designed for."""
    rows, columns = slice_.hu.shape
    low, high = SCOPE_PIXEL_MM
    if not all(low <= mm <= high for mm in slice_.spacing_mm):
        raise OutOfScope(
            f"slice {number + 1}: the pixel size is {_mm(slice_)}; it must be between {low:g} and {high:g} mm"
        )
    if max(slice_.spacing_mm) > MAX_ANISOTROPY * min(slice_.spacing_mm):
        raise OutOfScope(
            f"slice {number + 1}: the pixel size is {_mm(slice_)}; the ratio must be at most {MAX_ANISOTROPY:g}"
        )
    if min(rows, columns) < MIN_SIDE:
        raise OutOfScope(
            f"slice {number + 1}: the matrix is {rows} x {columns}; at least {MIN_SIDE} x {MIN_SIDE} is needed"
        )
    field = min(rows * slice_.spacing_mm[0], columns * slice_.spacing_mm[1])
    if field < MIN_FIELD_MM:
        raise OutOfScope(
            f"slice {number + 1}: the field of view is {field:.0f} mm; at least {MIN_FIELD_MM:.0f} mm is needed"
        )


def check_finite(slice_: Slice, metal: Mask, seeds_hu: float, number: int) -> None:
    """Refuse non-finite values unless they touch bright pixels inside the metal."""
    bad = ~np.isfinite(slice_.hu)
    if not bad.any():
        return
    bright = np.where(bad, -np.inf, slice_.hu) > seeds_hu
    near = binary_dilation(bright, iterations=max(slice_.hu.shape), mask=metal)
    if (bad & ~near).any():
        count = int((bad & ~near).sum())
        raise InputRefused(f"slice {number + 1}: {count} values outside the metal are not finite; repair the image")


def treatable(slice_: Slice, metal: Mask) -> tuple[Mask, str]:
    """Return the metal of a slice to treat, and why some or all of it is left.

    Metal at the edge of the field of view is incomplete, so that its rays are unknown. Other metal can be treated
    unless that at the edge is larger, since its artifacts are those that matter.
    """
    nothing = np.zeros_like(metal)
    body = (slice_.hu > BODY_HU) & ~slice_.fixed
    share = metal.sum() / max(1, int((body | metal).sum()))
    if share > MAX_METAL_SHARE:
        return nothing, f"metal covers {share:.0%} of the body; the threshold may be too low"
    edge = np.ones_like(metal)
    edge[1:-1, 1:-1] = False
    edge |= binary_dilation(slice_.fixed)
    if not (metal & edge).any():
        return metal, ""
    left = binary_propagation(metal & edge, structure=np.ones((3, 3)), mask=metal)
    if 2 * int(left.sum()) > int(metal.sum()):
        return nothing, "metal reaches the edge of the field of view"
    return metal & ~left, "metal at the edge of the field of view was left as it is"


def is_saturated(slice_: Slice, metal: Mask) -> bool:
    """Return whether the metal is clipped at the largest value of the stored type, or at that of 12 bits."""
    values = slice_.hu[metal & np.isfinite(slice_.hu)]
    top = values.max(initial=-np.inf)
    if top < slice_.ceiling_hu and top != TWELVE_BITS_HU:
        return False
    return bool(np.count_nonzero(values == top) >= SATURATED_PIXELS)


def measure_change(slice_: Slice, metal: Mask, change: Change) -> ChangeStatistics:
    """Measure how much a slice changed in the body, far from metal and in soft tissue."""
    body = np.isfinite(slice_.hu) & (slice_.hu > BODY_HU) & ~metal & ~slice_.fixed
    distance = distance_transform_edt(~metal, sampling=slice_.spacing_mm)
    far = body & (distance > FAR_MM)
    size = np.abs(np.where(metal, 0.0, change))
    far_change = float(size[far].mean()) if far.any() else None
    soft = body & (distance > NEAR_MM) & (slice_.hu > SOFT_HU[0]) & (slice_.hu < SOFT_HU[1])
    shift = float(change[soft].mean()) if soft.any() else 0.0
    mean = float(size[body].mean()) if body.any() else 0.0
    return ChangeStatistics(int(np.count_nonzero(size)), mean, float(size.max()), far_change, shift)


def _mm(slice_: Slice) -> str:
    return " x ".join(f"{mm:.3g}" for mm in slice_.spacing_mm) + " mm"
