"""A job, the states it can be in, and where its parts lie."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

UPLOADING, QUEUED, RUNNING, DONE, FAILED, CANCELLED = "uploading", "queued", "running", "done", "failed", "cancelled"
ENDED = (DONE, FAILED, CANCELLED)
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


def clear(place: Path, job: Job) -> None:
    """Throw away what an ended job needs no more."""
    unneeded = [UPLOAD, f".{RESULT}.partial", *([] if job.state == DONE else [RESULT])]
    for name in unneeded:
        shutil.rmtree(place / name, ignore_errors=True)
