"""A job, the states it can be in, and where its parts lie."""

from __future__ import annotations

import math
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from acdnet.errors import InputRefused, NeedsChoice
from acdnet.viewer.saved import read_json

UPLOADING, QUEUED, RUNNING, DONE, FAILED, CANCELLED = "uploading", "queued", "running", "done", "failed", "cancelled"
ENDED = (DONE, FAILED, CANCELLED)
STATES = (UPLOADING, QUEUED, RUNNING, *ENDED)
KINDS = ("dicom", "nii", "nii.gz")
SERIES, ANY_PLANE, LOSSY = NeedsChoice.SERIES, NeedsChoice.ANY_PLANE, NeedsChoice.LOSSY
JOB, UPLOAD, RESULT, PROGRESS = "job.json", "upload", "result", "progress.json"
LARGEST = 2**20
"""Bytes of what is kept about a job."""


@dataclass(frozen=True)
class Limits:
    """How much is taken from a page."""

    file_bytes: int = 1 * 2**30
    job_bytes: int = 8 * 2**30
    files: int = 10_000
    jobs: int = 200
    reserve_bytes: int = 1 * 2**30
    """What is left free on the disk."""
    idle_seconds: float = 3600.0
    """How long nothing may come of an upload before it is given up, as when its page was closed."""


@dataclass(frozen=True)
class Job:
    """One scan. It is known by its number; nothing of the patient is kept here."""

    id: str
    number: int
    state: str
    created: float
    files: int
    received: int = 0
    bytes: int = 0
    kind: str = "dicom"
    """dicom, nii or nii.gz: what the files are taken for."""
    message: str = ""
    series: int = 0
    """Which series was chosen, from 1; 0: there is one, or nobody has chosen."""
    any_plane: bool = False
    lossy: bool = False
    asks: str = ""
    """What a failed job would need to be told to run: SERIES, ANY_PLANE or LOSSY."""
    offered: tuple[str, ...] = ()
    """The series that can be chosen, in words that name nobody."""


def read_job(place: Path) -> Job:
    """Read a job from its folder; refuse what no server of ours has written."""
    path = place / JOB
    values = read_json(path, LARGEST)
    if not isinstance(values, dict):
        raise InputRefused(f"{path}: is no job")
    kinds = get_type_hints(Job)
    known = {name: _as(kind, values[name], f"{path}: {name}") for name, kind in kinds.items() if name in values}
    try:
        job = Job(**known)
    except TypeError as error:
        raise InputRefused(f"{path}: is not whole") from error
    if job.id != place.name:
        raise InputRefused(f"{path}: is of another job")
    counts = (job.number, job.files, job.received, job.bytes, job.series)
    words = job.state in STATES and job.kind in KINDS and job.asks in ("", SERIES, ANY_PLANE, LOSSY)
    if not words or min(counts) < 0:
        raise InputRefused(f"{path}: holds a value that no job has")
    return job


def _as(kind: Any, value: Any, what: str) -> Any:
    """Return a value of JSON as one of a job."""
    if kind is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if kind in (int, str, bool) and type(value) is kind:
        return value
    if kind not in (int, str, bool, float) and isinstance(value, list) and all(type(one) is str for one in value):
        return tuple(value)
    raise InputRefused(f"{what} is a {type(value).__name__}")


def read_progress(place: Path) -> dict[str, object]:
    """Return what the process of a job has told; nothing if it has not, or not in one piece."""
    try:
        told = read_json(place / PROGRESS, LARGEST)
    except InputRefused:
        return {}
    return told if isinstance(told, dict) else {}


def clear(place: Path, job: Job) -> None:
    """Throw away what an ended job needs no more; one that asks may run again and keeps its files."""
    kept = {DONE: (RESULT,), FAILED: (UPLOAD,) if job.asks else ()}.get(job.state, ())
    for name in {UPLOAD, RESULT, f".{RESULT}.partial"} - {*kept}:
        shutil.rmtree(place / name, ignore_errors=True)
    clear_staged(place, (JOB, PROGRESS))


def clear_staged(place: Path, names: tuple[str, ...]) -> None:
    """Remove what a process that was killed had begun to write of some files."""
    for name in names:
        with suppress(OSError):
            for staged in place.glob(f".{name}.*.partial"):
                staged.unlink(missing_ok=True)
