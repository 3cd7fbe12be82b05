"""What a result must not do, and which slices are left alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, distance_transform_edt

from acdnet.errors import InputRefused, OutOfScope
from acdnet.scans.scan import ScanSlice
from acdnet.units import TWELVE_BITS_HU

Image = NDArray[np.float32]
Mask = NDArray[np.bool_]

LEAST_SIDE, LEAST_FIELD_MM = 64, 100.0
PIXEL_MM = (0.15, 3.0)
"""Pixel sizes that the methods are made for."""
MOST_ANISOTROPY = 2.0
MOST_METAL = 0.30
"""Share of the body that can be metal; more is a wrong threshold or not a patient."""
BODY_HU = -500.0
NEAR_MM, FAR_MM = 10.0, 50.0
MOST_FAR_CHANGE_HU = 20.0
"""Mean change further from metal than `FAR_MM` that is worth a warning."""
MOST_SHIFT_HU = 10.0
"""Mean change of soft tissue, with its sign, that is worth a warning: tissue must stay what it is."""
SOFT_HU = (-200.0, 200.0)
SATURATED_PIXELS = 2
"""A slice is called saturated when so many pixels of its metal sit on the largest value there is."""


@dataclass(frozen=True)
class Findings:
    """What was measured on a slice."""

    changed_pixels: int
    mean_change_hu: float
    """Mean of |change| outside the metal, in the body."""
    most_change_hu: float
    far_change_hu: float | None
    """Mean of |change| in the body further than 5 cm from metal; None where nothing lies so far."""
    soft_shift_hu: float
    """Mean change of soft tissue further than 1 cm from metal, with its sign."""


def check_scope(slice_: ScanSlice, number: int) -> None:
    """Refuse slices of a kind that the methods were not made for."""
    rows, columns = slice_.hu.shape
    low, high = PIXEL_MM
    if not all(low <= mm <= high for mm in slice_.spacing_mm):
        raise OutOfScope(f"slice {number + 1}: pixels of {_mm(slice_)}; {low:g} to {high:g} mm are handled")
    if max(slice_.spacing_mm) > MOST_ANISOTROPY * min(slice_.spacing_mm):
        raise OutOfScope(f"slice {number + 1}: pixels of {_mm(slice_)} are too far from square")
    if min(rows, columns) < LEAST_SIDE:
        raise OutOfScope(f"slice {number + 1}: {rows} x {columns} pixels; {LEAST_SIDE} is the least")
    field = min(rows * slice_.spacing_mm[0], columns * slice_.spacing_mm[1])
    if field < LEAST_FIELD_MM:
        raise OutOfScope(f"slice {number + 1}: the field is {field:.0f} mm wide; {LEAST_FIELD_MM:.0f} mm is the least")


def check_finite(slice_: ScanSlice, metal: Mask, seeds_hu: float, number: int) -> None:
    """Refuse values that are no numbers, unless they lie in metal that shows itself by other values, too."""
    bad = ~np.isfinite(slice_.hu)
    if not bad.any():
        return
    shown = np.where(bad, -np.inf, slice_.hu) > seeds_hu
    near = binary_dilation(shown, iterations=max(slice_.hu.shape), mask=metal)
    if (bad & ~near).any():
        count = int((bad & ~near).sum())
        raise InputRefused(f"slice {number + 1}: {count} values outside the metal are not finite")


def why_left_alone(slice_: ScanSlice, metal: Mask) -> str:
    """Say why a slice with metal is better left as it is; nothing where it can be reduced."""
    body = (slice_.hu > BODY_HU) & ~slice_.fixed
    share = metal.sum() / max(1, int((body | metal).sum()))
    if share > MOST_METAL:
        return f"metal covers {share:.0%} of the body; is the threshold too low?"
    edge = np.ones_like(metal)
    edge[1:-1, 1:-1] = False
    edge |= binary_dilation(slice_.fixed)
    if (metal & edge).any():
        return "metal reaches the edge of the field of view"
    return ""


def is_saturated(slice_: ScanSlice, metal: Mask) -> bool:
    """Tell whether the metal is cut off at the largest value its numbers can hold, or at that of 12 bits."""
    values = slice_.hu[metal & np.isfinite(slice_.hu)]
    top = values.max(initial=-np.inf)
    if top < slice_.ceiling_hu and top != TWELVE_BITS_HU:
        return False
    return bool(np.count_nonzero(values == top) >= SATURATED_PIXELS)


def look_at(slice_: ScanSlice, metal: Mask, change: Image) -> Findings:
    """Measure what was changed and where."""
    body = np.isfinite(slice_.hu) & (slice_.hu > BODY_HU) & ~metal & ~slice_.fixed
    away = distance_transform_edt(~metal, sampling=slice_.spacing_mm)
    far = body & (away > FAR_MM)
    size = np.abs(np.where(metal, 0.0, change))
    far_change = float(size[far].mean()) if far.any() else None
    soft = body & (away > NEAR_MM) & (slice_.hu > SOFT_HU[0]) & (slice_.hu < SOFT_HU[1])
    shift = float(change[soft].mean()) if soft.any() else 0.0
    mean = float(size[body].mean()) if body.any() else 0.0
    return Findings(int(np.count_nonzero(size)), mean, float(size.max()), far_change, shift)


def _mm(slice_: ScanSlice) -> str:
    return " x ".join(f"{mm:.3g}" for mm in slice_.spacing_mm) + " mm"
