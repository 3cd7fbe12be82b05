"""The objects of a result that may be metal, read from its report; refused unless `acdnet reduce` could write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from acdnet.errors import InputRefused
from acdnet.reduction.object_report import DECISIONS, ObjectReport
from acdnet.viewer.safe_read import read_json

REPORT = "report.json"
MAX_REPORT_BYTES = 64 * 2**20
MAX_OBJECTS = int(np.iinfo(np.uint16).max)
"""Their numbers are stored in 16 bits."""
TYPES: dict[str, Any] = get_type_hints(ObjectReport)


def read_objects(report: dict[str, Any], slices: int, what: str) -> list[ObjectReport]:
    """Return the objects of a report for this many slices; reports of other programs have none."""
    entries = report.get("objects", [])
    if not isinstance(entries, list) or len(entries) > MAX_OBJECTS:
        raise InputRefused(f"{what}: objects must be a list of at most {MAX_OBJECTS:,}")
    return [_read(entry, n, slices, f"{what}: object {n}") for n, entry in enumerate(entries, 1)]


def _read(entry: Any, number: int, slices: int, what: str) -> ObjectReport:
    if not isinstance(entry, dict) or not TYPES.keys() <= entry.keys():
        raise InputRefused(f"{what} needs {', '.join(TYPES)}")
    values = {}
    for name, kind in TYPES.items():
        value = entry[name]
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise InputRefused(f"{what}: {name} is a {type(value).__name__}, not a {kind.__name__}")
        values[name] = value
    one = ObjectReport(**values)
    if one.number != number:
        raise InputRefused(f"{what} has the number {one.number}")
    if one.decision not in DECISIONS:
        raise InputRefused(f"{what}: decision is {one.decision!r:.20}; it must be one of {', '.join(DECISIONS)}")
    if not 0 <= one.probability <= 1:
        raise InputRefused(f"{what}: probability is {one.probability:g}; it must be between 0 and 1")
    if not 1 <= one.first_slice <= one.slice <= one.last_slice <= slices:
        raise InputRefused(f"{what}: its slices do not fit a scan of {slices}")
    if min(one.row, one.column, one.pixels) < 0:
        raise InputRefused(f"{what}: row, column or pixels is negative")
    return one


def objects_in(folder: Path) -> tuple[list[ObjectReport], str]:
    """Return the objects of the result in a folder and the version that found them; none without a valid report."""
    try:
        report = read_json(folder / REPORT, MAX_REPORT_BYTES)
        slices = report.get("slices") if isinstance(report, dict) else None
        objects = read_objects(report, len(slices), str(folder / REPORT)) if isinstance(slices, list) else []
        return objects, str(report.get("version")) if objects else ""
    except InputRefused:
        return [], ""
