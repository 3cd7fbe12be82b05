"""Run a batch: what is done stays done, and every series ends with a row."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from acdnet.batch.find import Task
from acdnet.batch.rows import FAILED, ROWS, Row, read_rows, row_path, write_table
from acdnet.batch.work import Plan
from acdnet.errors import ConfigError, ResourceError
from acdnet.files import write_atomically
from acdnet.parse import read_json

MAX_WORKERS = 8
"""Processes unless more are asked for."""
SETTINGS = "batch.json"


def prepare(source: Path, out: Path, plan: Plan) -> None:
    """Create the output folder, or continue one with the same settings."""
    if out.resolve().is_relative_to(source.resolve()) and source.is_dir():
        raise ConfigError(f"{out}: is inside the input folder; choose another place")
    settings = {"method": plan.method}
    if (out / SETTINGS).exists():
        if read_json(out / SETTINGS, 2**16) != settings:
            raise ConfigError(f"{out}: was begun with another method; choose another folder")
    elif out.is_dir() and any(out.iterdir()):
        raise ConfigError(f"{out}: is not empty, and was not made by acdnet batch; choose another folder")
    try:
        (out / ROWS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResourceError(f"{out}: cannot be created ({error.strerror})") from error
    write_atomically({out / SETTINGS: json.dumps(settings).encode()})


def to_do(tasks: list[Task], out: Path, retry: bool) -> list[Task]:
    """Return the series without a row; with `retry`, also those that failed."""
    done = {row.series for row in read_rows(out) if not (retry and row.status == FAILED)}
    return [task for task in tasks if task.key not in done]


def run(
    tasks: list[Task], plan: Plan, workers: int, scheduler: str | None, progress: Callable[[Row | None], None]
) -> None:
    """Reduce series; raise an error if one of them has no row at the end."""
    out = Path(plan.out)
    if scheduler is not None:
        from acdnet.batch.cluster import on_cluster

        results = on_cluster(tasks, plan, scheduler)
    else:
        from acdnet.batch.processes import in_processes

        results = in_processes(tasks, plan, workers)
    try:
        for _, row in results:
            progress(row)
            write_table(out)
    finally:
        write_table(out)
    missing = [task for task in tasks if not row_path(out, task.key).exists()]
    if missing:
        raise ResourceError(f"{len(missing)} series have no row, since another process has them; repeat the command")


def worker_count(wanted: int, device: str) -> int:
    """Return the number of processes: one for a GPU, or one a core, unless a number is given."""
    if wanted:
        return wanted
    if device not in ("auto", "cpu"):
        return 1
    if device == "auto":
        from acdnet.fast.device import choose_device

        if choose_device(device) != "cpu":
            return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MAX_WORKERS)
