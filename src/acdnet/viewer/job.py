"""The record of a job, its states, and the files in its folder."""

from __future__ import annotations

import math
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from acdnet.errors import InputRefused, NeedsChoice
from acdnet.viewer.safe_read import read_json

UPLOADING, QUEUED, RUNNING, DONE, FAILED, CANCELLED = "uploading", "queued", "running", "done", "failed", "cancelled"
ENDED = (DONE, FAILED, CANCELLED)
STATES = (UPLOADING, QUEUED, RUNNING, *ENDED)
KINDS = ("dicom", "nii", "nii.gz")
SERIES, ANY_PLANE, LOSSY = NeedsChoice.SERIES, NeedsChoice.ANY_PLANE, NeedsChoice.LOSSY
JOB, UPLOAD, RESULT, PROGRESS = "job.json", "upload", "result", "progress.json"
MAX_JSON_BYTES = 2**20


@dataclass(frozen=True)
class Limits:
    """Limits for uploads."""

    file_bytes: int = 1 * 2**30
    job_bytes: int = 8 * 2**30
    files: int = 10_000
    jobs: int = 200
    reserve_bytes: int = 1 * 2**30
    """Disk space to leave free."""
    idle_seconds: float = 3600.0
    """Uploads idle for this long are cancelled."""
    stalled_seconds: float = 1800.0
    """A running job that makes no progress for this long is stopped."""


@dataclass(frozen=True)
class Job:
    """One uploaded scan. It has a number instead of a name and contains no patient data."""

    id: str
    number: int
    state: str
    created: float
    files: int
    received: int = 0
    bytes: int = 0
    kind: str = "dicom"
    """Format of the files: dicom, nii or nii.gz."""
    message: str = ""
    series: int = 0
    """The series chosen by the user, from 1; 0 if none was chosen."""
    any_plane: bool = False
    lossy: bool = False
    needs: str = ""
    """The choice that a failed job is waiting for: SERIES, ANY_PLANE, LOSSY, or empty."""
    choices: tuple[str, ...] = ()
    """The series to choose from, described without patient data."""


def read_job(folder: Path) -> Job:
    """Read a job from its folder; refuse records that this program did not write."""
    path = folder / JOB
    values = read_json(path, MAX_JSON_BYTES)
    if not isinstance(values, dict):
        raise InputRefused(f"{path}: is not a job record")
    types = get_type_hints(Job)
    known = {name: _convert(type_, values[name], f"{path}: {name}") for name, type_ in types.items() if name in values}
    try:
        job = Job(**known)
    except TypeError as error:
        raise InputRefused(f"{path}: is incomplete") from error
    if job.id != folder.name:
        raise InputRefused(f"{path}: id is {job.id:.40}; it must match the folder name")
    counts = (job.number, job.files, job.received, job.bytes, job.series)
    words = job.state in STATES and job.kind in KINDS and job.needs in ("", SERIES, ANY_PLANE, LOSSY)
    if not words or min(counts) < 0:
        raise InputRefused(f"{path}: contains an impossible value")
    return job


def _convert(type_: Any, value: Any, what: str) -> Any:
    """Convert a JSON value to the type of a field."""
    if type_ is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if type_ in (int, str, bool) and type(value) is type_:
        return value
    if type_ not in (int, str, bool, float) and isinstance(value, list) and all(type(one) is str for one in value):
        return tuple(value)
    raise InputRefused(f"{what} has the wrong type {type(value).__name__}")


def read_progress(folder: Path) -> dict[str, object]:
    """Return what the worker last reported; empty if there is no valid report."""
    try:
        progress = read_json(folder / PROGRESS, MAX_JSON_BYTES)
    except InputRefused:
        return {}
    return progress if isinstance(progress, dict) else {}


def clean_up(folder: Path, job: Job) -> None:
    """Delete files that an ended job no longer needs; a job that waits for a choice keeps its upload."""
    kept = {DONE: (RESULT,), FAILED: (UPLOAD,) if job.needs else ()}.get(job.state, ())
    for name in {UPLOAD, RESULT, f".{RESULT}.partial"} - {*kept}:
        shutil.rmtree(folder / name, ignore_errors=True)
    remove_partial(folder, (JOB, PROGRESS))


def remove_partial(folder: Path, names: tuple[str, ...]) -> None:
    """Remove the temporary files of interrupted writes."""
    for name in names:
        with suppress(OSError):
            for staged in folder.glob(f".{name}.*.partial"):
                staged.unlink(missing_ok=True)
