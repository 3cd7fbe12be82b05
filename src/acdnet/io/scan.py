"""The interface of all scans: read slices in HU one at a time, and write them changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from acdnet.io.slices import Change, Image, Slice

REDUCED, DIFFERENCE = "reduced", "difference"
"""Names of the output: the corrected scan, and after minus before."""
NOTICE = "Research use only. Not a medical device. Not for diagnosis. Always look at the original images too."
SHORT_NOTICE = "acdnet MAR research, not for diagnosis"


@dataclass(frozen=True)
class Provenance:
    """How a written scan was made."""

    method: str
    description: str
    """One sentence: method, version, model with hash, threshold."""
    identity: str
    """Hash of everything that determines the pixels."""
    created: str
    """UTC, as YYYYMMDDHHMMSS."""
    metal: str = ""
    """How the metal was detected."""
    keep_private: bool = False
    learned: bool = False
    """Whether the method is a network."""


class Writer(Protocol):
    """Writes a scan with changed slices, and the changes as a second scan."""

    def write(self, number: int, change: Change | None) -> Image | None:
        """Write slice `number` plus a change in HU (None: unchanged); return the change as stored.

        Where the slice is not finite, the change is the new value.
        """

    def close(self) -> list[Path]:
        """Finish; return the written paths."""


class Scan(Protocol):
    """A scan opened for reading."""

    kind: str
    """dicom, nifti, png or npy."""
    heights: list[float | None]
    """Slice positions in mm along the normal; None where unknown."""
    warnings: list[str]
    skipped: dict[str, int]
    """Number of skipped files by reason."""
    about: dict[str, str]
    """Description without patient data."""

    def __len__(self) -> int: ...

    def read(self, number: int) -> Slice: ...

    def writer(self, folder: Path, provenance: Provenance) -> Writer: ...


def to_stored(
    before: NDArray[Any],
    hu: Image,
    change: Change,
    slope: float,
    intercept: float,
    limits: tuple[int, int],
) -> NDArray[np.int64]:
    """Return the stored values of a changed slice; a change below half a step keeps the old value."""
    values = np.rint((hu.astype(np.float64) + change - intercept) / slope)
    changed = np.abs(change) >= 0.5 * slope
    return np.where(changed, np.clip(values, *limits), before).astype(np.int64)
