"""The entry of an object in the report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

DECISIONS = METAL, DOUBTFUL, KEPT, DROPPED = "metal", "doubtful", "kept", "dropped"
"""Found to be metal; left as it is, since it may be tissue; metal, or no metal, as the user said."""


@dataclass(frozen=True)
class ObjectReport:
    """The entry of an object in the report."""

    number: int
    """From 1, in order of slices; `--keep` and `--drop` take it."""
    decision: str
    probability: float
    first_slice: int
    last_slice: int
    """Slices are numbered from 1."""
    slice: int
    """The slice in which it is largest, with the row and column of its middle."""
    row: int
    column: int
    pixels: int
    peak_hu: float

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {key: round(value, 3) if isinstance(value, float) else value for key, value in asdict(self).items()}
