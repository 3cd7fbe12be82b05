"""Clean slices of a source: patient, split, and how to read them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from acdnet.errors import InputRefused
from acdnet.io.slices import Slice
from acdnet.limits import check_pixel_mm
from acdnet.units import AIR_HU, Image

SPLITS = ("train", "val", "test")
SHARES = (0.8, 0.1, 0.1)
"""Shares of the patients in the splits, if the source has no splits."""


@dataclass(frozen=True)
class SliceRef:
    """A slice of a patient, and how to read it. Names contain no patient data."""

    name: str
    patient: str
    split: str
    read: Callable[[], Slice]
    notes: dict[str, str] = field(default_factory=dict)
    """Licence, origin and region, as stated by the source."""
    kinds: tuple[str, ...] = ()
    """Implants that occur in the slice, if known."""
    place: str = ""
    """The file, for messages only, since file names may contain names of patients."""
    identity: str = ""
    """Detects a changed source without reading it."""
    stack: str = ""
    """Slices of one stack and patient that follow each other and are `step_mm` apart are neighbours."""
    z_mm: float | None = None
    """Height of the slice, if known."""
    step_mm: float = 0.0
    """Distance of neighbours; 0 if the heights alone tell it."""
    cropped: bool = False
    """Each slice may be cropped on its own, so that neighbours have to be aligned."""


@dataclass(frozen=True)
class Source:
    """The slices of a source, and the number of unused files by reason."""

    slices: list[SliceRef]
    passed_over: dict[str, int] = field(default_factory=dict)


def squared(slice_: Slice, size: int) -> tuple[Image, float]:
    """Resample to square pixels and pad with air to size x size; return that and the pixel size in mm."""
    hu = slice_.hu
    if not np.isfinite(hu).all():
        raise InputRefused(f"{int((~np.isfinite(hu)).sum())} values are not finite")
    if hu.ndim != 2 or hu.size == 0:
        raise InputRefused(f"the slice has the shape {hu.shape}; it must be H x W")
    check_pixel_mm(slice_.spacing_mm)
    sides = [count * mm for count, mm in zip(hu.shape, slice_.spacing_mm, strict=True)]
    pixel_mm = max(sides) / size
    inner = tuple(max(1, round(side / pixel_mm)) for side in sides)
    image = hu
    if image.shape != inner:
        from skimage.transform import resize

        image = resize(image, inner, order=1, anti_aliasing=False, preserve_range=True, mode="edge")
    square = np.full((size, size), AIR_HU, np.float32)
    top, left = ((size - length) // 2 for length in inner)
    square[top : top + inner[0], left : left + inner[1]] = image
    return square, pixel_mm


def assign_splits(patients: list[str]) -> dict[str, str]:
    """Assign patients to train, val and test, always in the same way."""
    ordered = sorted(set(patients), key=lambda name: hashlib.sha256(name.encode()).digest())
    ends = np.cumsum(SHARES)
    return {
        patient: SPLITS[int(np.searchsorted(ends, (i + 0.5) / len(ordered)).clip(0, 2))]
        for i, patient in enumerate(ordered)
    }


@lru_cache(maxsize=65536)
def pseudonym(*texts: str) -> str:
    """Return a reproducible name from which the texts are slow to guess (scrypt)."""
    secret = "\0".join(texts).encode(errors="replace")
    return hashlib.scrypt(secret, salt=b"acdnet pseudonym", n=2**14, r=8, p=1, dklen=6).hex()
