"""Reduce one series of a batch: the same function in this process, in another one, and on a cluster."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from pathlib import Path

from acdnet.batch.find import Task
from acdnet.batch.rows import FAILED, REFUSED, Row, row_of_report, why, write_row
from acdnet.errors import AcdnetError, ConfigError, InputRefused, PlaceTaken
from acdnet.io.open import Opening, open_scan
from acdnet.methods.metal import choose_segmentation
from acdnet.methods.method import Method
from acdnet.methods.registry import get_method
from acdnet.reduction.files import run_job
from acdnet.reduction.settings import Settings


@dataclass(frozen=True)
class Plan:
    """What is the same for all series."""

    out: str
    """Absolute, and the same on all machines."""
    method: str = "acdnet"
    device: str = "auto"
    threshold_hu: float | None = None
    """Finds metal by this value instead of the localiser."""
    any_plane: bool = False
    accept_lossy: bool = False
    workers: int = 1
    """Slices in parallel; a batch shares out series instead."""


def reduce_task(task: Task, plan: Plan) -> Row | None:
    """Reduce a series and write its row; return None if another process is working on it.

    Errors of the method itself are raised: they would meet all series.
    """
    out, start = Path(plan.out), time.monotonic()
    folder, method = out / task.key, _method(plan.method, plan.device)
    try:
        if not (folder / "report.json").exists():  # or a process ended just before it wrote the row
            _reduce(task, folder, plan, method)
        row = row_of_report(task, folder, time.monotonic() - start)
    except PlaceTaken:
        return None
    except (InputRefused, ConfigError) as error:
        row = _without_result(task, REFUSED, why(error, task), start)
    except AcdnetError as error:
        row = _without_result(task, FAILED, why(error, task), start)
    except Exception as error:  # its message may contain patient data
        memory = isinstance(error, MemoryError) or "allocate memory" in str(error)  # the message of torch
        reason = "out of memory" if memory else f"unexpected error ({type(error).__name__})"
        row = _without_result(task, FAILED, reason, start)
    write_row(out, row)
    return row


def _reduce(task: Task, folder: Path, plan: Plan, method: Method) -> None:
    source = Path(task.source)
    scan = open_scan(source, Opening(None, None, plan.any_plane, plan.accept_lossy, tuple(map(Path, task.files))))
    settings = Settings(plan.method, choose_segmentation("", plan.threshold_hu), None, plan.device, plan.workers)
    run_job(scan, source, folder, settings, lambda _what, _done, _total: None, method)


@functools.lru_cache(maxsize=1)
def _method(name: str, device: str) -> Method:
    """Return the method, loaded once in a process."""
    return get_method(name, device)


def _without_result(task: Task, status: str, reason: str, start: float) -> Row:
    return Row(task.key, status, seconds=round(time.monotonic() - start, 2), reason=reason)
