"""Limits of the input, and the validation of slices, masks and pixel sizes, for all readers and the Python API."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused

MAX_SIDE = 4096
"""Pixels along the side of a slice."""
MAX_DICOM_BYTES = 256 * 2**20
MAX_PNG_BYTES = 64 * 2**20
MAX_ARRAY_BYTES = 8 * 2**30
MAX_VOLUME_BYTES = 2 * 2**30
"""Uncompressed size of a NIfTI volume."""
PIXEL_MM = (0.05, 5.0)
"""Plausible pixel sizes of CT."""
MAX_TILT_DEGREES = 35.0
"""A gantry tilts by at most 30 degrees; slices that are tilted more are not axial."""
MAX_METAL_SHARE = 0.5
"""Share of a slice that can be metal; a mask with more is probably inverted."""


def as_slice(values: Any, what: str = "the slice") -> NDArray[np.float32]:
    """Return an array as a slice of real numbers, H x W; refuse other arrays."""
    array = np.asarray(values)
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "fiub":
        raise InputRefused(f"{what} is {array.dtype} of shape {array.shape}; a slice of real numbers (H x W) is needed")
    return array.astype(np.float32)


def as_mask(values: Any, what: str = "the metal mask", shape: tuple[int, ...] | None = None) -> NDArray[np.bool_]:
    """Return an array as a mask of the given shape; it may hold booleans, or 0 and one other number."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise InputRefused(f"{what} is {array.dtype}; a mask must be boolean, or contain 0 and 1")
    if shape is not None and array.shape != shape:
        raise InputRefused(f"{what} is {array.shape}, the image {shape}; both must have the same shape")
    levels = np.unique(array)
    if not np.isfinite(levels).all():
        raise InputRefused(f"{what} contains values that are not finite; a mask contains 0 and 1")
    if len(levels) > 2 or (len(levels) == 2 and 0 not in levels):
        raise InputRefused(f"{what} contains {len(levels)} different values; a mask contains 0 and 1")
    return np.asarray(array != 0)


def check_side(shape: tuple[int, ...], what: str) -> None:
    """Refuse slices without pixels or with too many."""
    if not all(1 <= side <= MAX_SIDE for side in shape):
        size = " x ".join(str(side) for side in shape)
        raise InputRefused(f"{what} is {size}; sides must be between 1 and {MAX_SIDE}")


def check_pixel_mm(pixel_mm: tuple[float, ...], what: str = "the pixel size") -> None:
    """Refuse pixel sizes that no CT scanner has."""
    low, high = PIXEL_MM
    if not all(low <= mm <= high for mm in pixel_mm):
        size = " x ".join(f"{mm:g}" for mm in pixel_mm)
        raise InputRefused(f"{what} is {size} mm; it must be between {low} and {high} mm")


def as_spacing_mm(values: Any, what: str = "spacing_mm") -> tuple[float, ...]:
    """Return row and column spacing, optionally preceded by the slice spacing; refuse impossible values."""
    try:
        spacing = tuple(float(mm) for mm in values)
    except (TypeError, ValueError):
        spacing = ()
    if len(spacing) not in (2, 3) or not all(np.isfinite(mm) and mm > 0 for mm in spacing):
        raise InputRefused(f"{what} is {values}; give row and column spacing, or slice, row and column spacing, in mm")
    check_pixel_mm(spacing[-2:], what)
    return spacing


def check_not_inverted(mask: NDArray[np.bool_], what: str = "the metal mask") -> None:
    """Refuse a mask that covers most of the image."""
    if mask.mean() > MAX_METAL_SHARE:
        raise InputRefused(f"{what} covers {mask.mean():.0%} of the image; true means metal, is it inverted?")
