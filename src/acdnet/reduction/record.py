"""What is remembered about a slice."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from acdnet.reduction.guard import Findings

REDUCED, UNCHANGED, PASSED = "reduced", "unchanged", "passed through"
"""Reduced; without metal and therefore as it came; with metal but left as it came, for the reason that is given."""


@dataclass(frozen=True)
class SliceRecord:
    """One line of a report."""

    number: int
    """From 1, in the order of heights."""
    status: str
    metal_pixels: int = 0
    saturated: bool = False
    reason: str = ""
    changed_pixels: int = 0
    mean_change_hu: float = 0.0
    most_change_hu: float = 0.0
    far_change_hu: float | None = None
    soft_shift_hu: float = 0.0
    expected_error_hu: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, rounded for people."""
        return {key: round(value, 2) if isinstance(value, float) else value for key, value in asdict(self).items()}


def passed_through(number: int, metal_pixels: int, saturated: bool, reason: str) -> SliceRecord:
    """Note a slice with metal that was left as it came."""
    return SliceRecord(number, PASSED, metal_pixels, saturated, reason)


def reduced(number: int, metal_pixels: int, saturated: bool, findings: Findings, doubt: float | None) -> SliceRecord:
    """Note a slice that was reduced."""
    f = findings
    return SliceRecord(
        number,
        REDUCED,
        metal_pixels,
        saturated,
        "",
        f.changed_pixels,
        f.mean_change_hu,
        f.most_change_hu,
        f.far_change_hu,
        f.soft_shift_hu,
        doubt,
    )
