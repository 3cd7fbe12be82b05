"""The record of a job, its states, and the files in its folder."""

from __future__ import annotations

import math
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from acdnet.errors import InputRefused, NeedsChoice
from acdnet.viewer.safe_read import read_json

UPLOADING, QUEUED, RUNNING, DONE, FAILED, CANCELLED = "uploading", "queued", "running", "done", "failed", "cancelled"
ENDED = (DONE, FAILED, CANCELLED)
STATES = (UPLOADING, QUEUED, RUNNING, *ENDED)
KINDS = ("dicom", "nii", "nii.gz")
SERIES, ANY_PLANE, LOSSY = NeedsChoice.SERIES, NeedsChoice.ANY_PLANE, NeedsChoice.LOSSY
JOB, UPLOAD, RESULT, PROGRESS = "job.json", "upload", "result", "progress.json"
RESULTS = re.compile(rf"\.?{RESULT}(-\d+)?(\.partial)?")
"""Names of results, complete or not."""
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
    objects: int = 0
    """How many objects a job that is done has found; if there are any, it keeps its upload and can be repeated."""
    runs: int = 0
    """How many times its result was replaced. The record decides which result is valid."""
    again: bool = False
    """Whether it is being reduced again; its result stays valid until then."""
    keep: tuple[int, ...] = ()
    """The objects that count as metal when it is reduced again; the report of a result has its own."""
    drop: tuple[int, ...] = ()

    @property
    def target(self) -> str:
        """The folder of the result that it is working on."""
        return result_name(self.runs + self.again)


AT_REST: dict[str, Any] = {"again": False, "keep": (), "drop": ()}
"""What a job that is not being reduced again records."""


def result_name(run: int) -> str:
    """Return the name of the folder of a result."""
    return f"{RESULT}-{run}" if run else RESULT


def stopped(job: Job, state: str, message: str) -> dict[str, Any]:
    """Return what changes when a job ends without a new result: one that has a result keeps it."""
    if job.again:
        return AT_REST | {"state": DONE, "message": f"not reduced again: {message}", "needs": "", "choices": ()}
    return {"state": state, "message": message}


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
    counts = (job.number, job.files, job.received, job.bytes, job.series, job.objects, job.runs, *job.keep, *job.drop)
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
    if get_origin(type_) is tuple and isinstance(value, list) and all(type(one) is get_args(type_)[0] for one in value):
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
    """Delete files that an ended job no longer needs; one that may be repeated keeps its upload."""
    repeatable = (job.state == DONE and job.objects) or (job.state == FAILED and job.needs)
    kept = {result_name(job.runs) if job.state == DONE else "", UPLOAD if repeatable else ""}
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name not in kept and (path.name == UPLOAD or RESULTS.fullmatch(path.name)):
                shutil.rmtree(path, ignore_errors=True)
    remove_partial(folder, (JOB, PROGRESS))


def remove_partial(folder: Path, names: tuple[str, ...]) -> None:
    """Remove the temporary files of interrupted writes."""
    for name in names:
        with suppress(OSError):
            for staged in folder.glob(f".{name}.*.partial"):
                staged.unlink(missing_ok=True)
