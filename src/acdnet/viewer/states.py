"""A job, the states it can be in, and where its parts lie."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

UPLOADING, QUEUED, RUNNING, DONE, FAILED, CANCELLED = "uploading", "queued", "running", "done", "failed", "cancelled"
ENDED = (DONE, FAILED, CANCELLED)
SERIES, ANY_PLANE, LOSSY = "series", "any_plane", "lossy"
JOB, UPLOAD, RESULT, PROGRESS = "job.json", "upload", "result", "progress.json"


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


def clear(place: Path, job: Job) -> None:
    """Throw away what an ended job needs no more; one that asks may run again and keeps its files."""
    kept = {DONE: (RESULT,), FAILED: (UPLOAD,) if job.asks else ()}.get(job.state, ())
    for name in {UPLOAD, RESULT, f".{RESULT}.partial"} - {*kept}:
        shutil.rmtree(place / name, ignore_errors=True)
    clear_staged(place, (JOB, PROGRESS))


def clear_staged(place: Path, names: tuple[str, ...]) -> None:
    """Remove what a process that was killed had begun to write of some files."""
    for name in names:
        for staged in place.glob(f".{name}.*.partial"):
            staged.unlink(missing_ok=True)
