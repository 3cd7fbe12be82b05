"""Reduce everything in a folder of a platform; files that are not CT slices are no failure."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

from acdnet.batch.find import Part, find_tasks
from acdnet.batch.rows import FAILED, IN_PART, NO_METAL, REDUCED, REFUSED, ROWS, Row
from acdnet.batch.work import reduce_task
from acdnet.errors import InputRefused, ResourceError
from acdnet.io.scan import NOTICE
from acdnet.platforms.settings import PlatformSettings

WORK = ".acdnet-work"
"""Folder in the output while the work lasts, so that files take their final names by renaming."""
FINISHED = (REDUCED, IN_PART, NO_METAL)
CHANGED = (REDUCED, IN_PART)


def reduce_all(source: Path, out: Path, settings: PlatformSettings) -> list[Row]:
    """Reduce all series of a folder into `out/WORK`; refuse a folder without a usable series."""
    if not source.is_dir():
        raise InputRefused(f"{source}: no such folder")
    work = out / WORK
    shutil.rmtree(work, ignore_errors=True)  # of a job that was killed
    try:
        (work / ROWS).mkdir(parents=True)
    except OSError as error:
        raise ResourceError(f"{work}: cannot be created ({error.strerror})") from error
    try:
        plan = settings.plan(str(work.absolute()))
        rows = []
        for task in find_tasks(source, Part(), lambda _files: None):
            row = reduce_task(task, plan)
            rows.append(row or Row(task.key, FAILED, reason="another process is reducing this series"))
        if not any(row.status in FINISHED for row in rows):
            failed = [row for row in rows if row.status == FAILED]
            raise (ResourceError if failed else InputRefused)((failed or rows)[0].reason)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return [replace(row, seconds=None) for row in rows]


def summary(rows: list[Row]) -> str:
    """Say in one paragraph what happened, without patient data."""
    counts = Counter(row.status for row in rows)
    said = ", ".join(f"{counts[name]} {name}" for name in (*FINISHED, REFUSED, FAILED) if counts[name])
    reasons = "".join(f" {row.series}: {row.reason}." for row in rows if row.reason)
    return f"acdnet, series: {said}.{reasons} {NOTICE}"


def deliver_folders(rows: list[Row], out: Path) -> None:
    """Give the results of all series their final names, a folder each."""
    for row in rows:
        if row.status in FINISHED:
            (out / WORK / row.series).rename(out / row.series)
    shutil.rmtree(out / WORK)
