"""The rows of a batch: a small file for each series, and all of them as CSV. They hold no patient data."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from acdnet.batch.find import Task
from acdnet.errors import InputRefused, NeedsChoice, PlaceTaken
from acdnet.files import locked, write_atomically
from acdnet.messages import printable
from acdnet.parse import read_json

ROWS, TABLE = "rows", "series.csv"
REDUCED, IN_PART, NO_METAL = "reduced", "reduced in part", "no metal"
REFUSED, FAILED = "refused", "failed"
"""Refused: the input cannot be used. Failed: memory, disk or a killed process; `--retry` tries these again."""
MAX_ROW_BYTES, MAX_REPORT_BYTES = 2**16, 256 * 2**20
LOCK_SECONDS, LOCK_WAIT = 30.0, 0.1
QUOTED = re.compile(r"\bis [^;]*;")
"""The value of a tag in an error, which may be anything in a damaged file."""


@dataclass(frozen=True)
class Row:
    """What happened to a series."""

    series: str
    status: str
    slices: int | None = None
    metal_slices: int | None = None
    expected_error_hu: float | None = None
    """Mean over the reduced slices."""
    seconds: float | None = None
    reason: str = ""


def row_path(out: Path, key: str) -> Path:
    return out / ROWS / f"{key}.json"


def write_row(out: Path, row: Row) -> None:
    write_atomically({row_path(out, row.series): json.dumps(asdict(row)).encode()})


def read_rows(out: Path) -> list[Row]:
    """Return all rows, in order."""
    rows = []
    for path in sorted((out / ROWS).glob("*.json")):
        try:
            rows.append(Row(**read_json(path, MAX_ROW_BYTES)))
        except TypeError as error:
            raise InputRefused(f"{path}: is not a row of acdnet batch; remove it") from error
    return rows


def row_of_report(task: Task, folder: Path, seconds: float | None) -> Row:
    """Return the row of a finished series from its report."""
    report: dict[str, Any] = read_json(folder / "report.json", MAX_REPORT_BYTES)
    slices, counts = report["slices"], report["counts"]
    errors = [one["expected_error_hu"] for one in slices if one["expected_error_hu"] is not None]
    passed, metal = counts["passed through"], sum(one["status"] != "unchanged" for one in slices)
    status = (REDUCED if not passed else IN_PART) if metal else NO_METAL
    reasons = dict.fromkeys(one["reason"] for one in slices if one["reason"])
    mean = round(sum(errors) / len(errors), 2) if errors else None
    took = None if seconds is None else round(seconds, 2)
    return Row(task.key, status, len(slices), metal, mean, took, printable("; ".join(reasons), 500))


def why(error: Exception, task: Task) -> str:
    """Return the message of an error without paths and without values of tags."""
    text = error.problem if isinstance(error, NeedsChoice) else str(error)
    for name in sorted({*task.files, task.source}, key=len, reverse=True):
        text = text.replace(printable(name), "the series" if name == task.source else "a file")
        text = text.replace(f"as {printable(Path(name).name)} but", "as another file but")
    return printable(QUOTED.sub("is not valid;", text), 500)


def write_table(out: Path) -> None:
    """Write all rows as CSV; of several processes, the last one writes the whole table."""
    start = time.monotonic()
    while True:
        try:
            with locked(out / ".table.lock"):
                text = io.StringIO()
                table = csv.DictWriter(text, [one.name for one in fields(Row)], lineterminator="\n")
                table.writeheader()
                table.writerows(asdict(row) for row in read_rows(out))
                return write_atomically({out / TABLE: text.getvalue().encode()})
        except PlaceTaken:
            if time.monotonic() - start > LOCK_SECONDS:
                raise
            time.sleep(LOCK_WAIT)
