"""The entry of a slice in the report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from acdnet.reduction.guard import ChangeStatistics

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
    changed_pixels: int = 0
    mean_change_hu: float = 0.0
    max_change_hu: float = 0.0
    far_change_hu: float | None = None
    soft_shift_hu: float = 0.0
    expected_error_hu: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, rounded to two decimals."""
        return {key: round(value, 2) if isinstance(value, float) else value for key, value in asdict(self).items()}


def passed_through(number: int, metal_pixels: int, saturated: bool, reason: str) -> SliceReport:
    """Report a slice with metal that was not reduced."""
    return SliceReport(number, PASSED, metal_pixels, saturated, reason)


def reduced(
    number: int, metal_pixels: int, saturated: bool, statistics: ChangeStatistics, error: float | None
) -> SliceReport:
    """Report a reduced slice."""
    s = statistics
    return SliceReport(
        number,
        REDUCED,
        metal_pixels,
        saturated,
        "",
        s.changed_pixels,
        s.mean_change_hu,
        s.max_change_hu,
        s.far_change_hu,
        s.soft_shift_hu,
        error,
    )
