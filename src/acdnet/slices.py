"""A slice of a source, read when it is needed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused
from acdnet.units import AIR_HU

PLAUSIBLE_MM = (0.05, 5.0)
"""Sizes of pixels in mm that are believed."""
SPLITS = ("train", "val", "test")
SHARES = (0.8, 0.1, 0.1)
"""Shares of the patients in the splits, where the source does not say."""


@dataclass(frozen=True)
class SliceRef:
    """One slice: whose it is, what it is called, and how to read it. Names tell nothing about a patient."""

    name: str
    patient: str
    split: str
    read: Callable[[], RawSlice]
    notes: dict[str, str] = field(default_factory=dict)
    """Licence, origin, region: what the source says of it."""
    kinds: tuple[str, ...] = ()
    """Implants that are found there, where the source knows."""
    place: str = ""
    """The file it comes from: for messages only, since names of files may name patients."""
    identity: str = ""
    """What tells a changed source from the same one without reading it."""


@dataclass(frozen=True)
class Source:
    """The slices of a source, and how many other files were passed over, by reason."""

    slices: list[SliceRef]
    passed_over: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class RawSlice:
    """A slice as its file has it: HU, and the distance of rows and of columns in mm."""

    hu: NDArray[np.float32]
    spacing_mm: tuple[float, float]
    sha256: str

    def squared(self, size: int) -> tuple[NDArray[np.float32], float]:
        """Resample to square pixels and pad with air to size x size; return that and the pixel size in mm."""
        if not np.isfinite(self.hu).all():
            raise InputRefused(f"{int((~np.isfinite(self.hu)).sum())} values are not finite")
        if self.hu.ndim != 2 or self.hu.size == 0:
            raise InputRefused(f"the slice has the shape {self.hu.shape}; it must be a picture")
        low, high = PLAUSIBLE_MM
        if not all(low <= mm <= high for mm in self.spacing_mm):
            raise InputRefused(f"the pixel size is {self.spacing_mm} mm; it must lie between {low} and {high}")
        sides = [count * mm for count, mm in zip(self.hu.shape, self.spacing_mm, strict=True)]
        pixel_mm = max(sides) / size
        inner = tuple(max(1, round(side / pixel_mm)) for side in sides)
        image = self.hu
        if image.shape != inner:
            from skimage.transform import resize

            image = resize(image, inner, order=1, anti_aliasing=False, preserve_range=True, mode="edge")
        square = np.full((size, size), AIR_HU, np.float32)
        top, left = ((size - length) // 2 for length in inner)
        square[top : top + inner[0], left : left + inner[1]] = image
        return square, pixel_mm


def assign_splits(patients: list[str]) -> dict[str, str]:
    """Deal patients out to train, val and test; the same patients are always dealt the same way."""
    ordered = sorted(set(patients), key=lambda name: hashlib.sha256(name.encode()).digest())
    ends = np.cumsum(SHARES)
    return {
        patient: SPLITS[int(np.searchsorted(ends, (i + 0.5) / len(ordered)).clip(0, 2))]
        for i, patient in enumerate(ordered)
    }


@lru_cache(maxsize=65536)
def pseudonym(*texts: str) -> str:
    """Return a name that is always the same for the same texts, and slow to guess them from (scrypt)."""
    told = "\0".join(texts).encode(errors="replace")
    return hashlib.scrypt(told, salt=b"acdnet pseudonym", n=2**14, r=8, p=1, dklen=6).hex()
