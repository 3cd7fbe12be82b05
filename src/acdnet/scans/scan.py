"""What all scans have in common: slices in HU that can be read one by one, and a way to write them changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

REDUCED, DIFFERENCE = "reduced", "difference"
"""What a result is called: the scan with less artifact, and what was taken away."""
NOTICE = "Research use only. Not a medical device. Not for diagnosis. Always look at the original images too."
SHORT_NOTICE = "acdnet MAR research, not for diagnosis"


@dataclass(frozen=True)
class ScanSlice:
    """One slice of a scan."""

    hu: NDArray[np.float32]
    """HU; padding is air. What is not finite is left as it is."""
    spacing_mm: tuple[float, float]
    """Distance of rows and of columns."""
    fixed: NDArray[np.bool_]
    """Pixels that are no image (padding) and stay as they are."""
    ceiling_hu: float
    """The largest HU its numbers can hold."""
    step_hu: float = 0.0
    """The smallest difference its numbers can hold; 0 for floating-point numbers."""


@dataclass(frozen=True)
class Provenance:
    """What a written scan says about how it was made."""

    method: str
    description: str
    """A sentence: method, version, model and its hash, threshold."""
    identity: str
    """A hash of everything that decides the pixels."""
    created: str
    """When, in UTC, as YYYYMMDDHHMMSS."""
    metal: str = ""
    """How the metal was found."""
    keep_private: bool = False


class Writer(Protocol):
    """Writes a scan again with changed slices, and the changes as a scan of their own."""

    def write(self, number: int, change: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
        """Write slice `number`, changed by so many HU (None: as it came); return the change as it was written.

        Where the slice holds no number, the change is the new value.
        """

    def close(self) -> list[Path]:
        """Finish; return what was written, to be shown to the user."""


class Scan(Protocol):
    """A scan that can be read."""

    kind: str
    """dicom, nifti, png or npy."""
    heights: list[float | None]
    """Where slices lie, in mm along their common normal; None where it is not known."""
    warnings: list[str]
    skipped: dict[str, int]
    """How many files were passed over, by reason."""
    about: dict[str, str]
    """What may be told about it: nothing that names a patient."""

    def __len__(self) -> int: ...

    def read(self, number: int) -> ScanSlice: ...

    def writer(self, folder: Path, provenance: Provenance) -> Writer: ...


def to_stored(
    before: NDArray[Any],
    hu: NDArray[np.float32],
    change: NDArray[np.float32],
    slope: float,
    intercept: float,
    limits: tuple[int, int],
) -> NDArray[np.int64]:
    """Return the stored numbers of a changed slice; where it does not change by half a step, those of before."""
    wanted = np.rint((hu.astype(np.float64) + change - intercept) / slope)
    moved = np.abs(change) >= 0.5 * slope
    return np.where(moved, np.clip(wanted, *limits), before).astype(np.int64)
