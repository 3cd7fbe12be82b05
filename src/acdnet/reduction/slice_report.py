"""The entry of a slice in the report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

REDUCED, UNCHANGED, PASSED = "reduced", "unchanged", "passed through"
"""Reduced; unchanged because it has no metal; or not reduced in spite of metal, with a reason."""


@dataclass(frozen=True)
class SliceReport:
    """What happened to a slice."""

    number: int
    """From 1, in order of position."""
    status: str
    metal_pixels: int = 0
    saturated: bool = False
    reason: str = ""
    """Why it was not reduced, or why some of its metal was left."""
    changed_pixels: int = 0
    mean_change_hu: float = 0.0
    max_change_hu: float = 0.0
    far_change_hu: float | None = None
    soft_shift_hu: float = 0.0
    expected_error_hu: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, rounded to two decimals."""
        return {key: round(value, 2) if isinstance(value, float) else value for key, value in asdict(self).items()}
