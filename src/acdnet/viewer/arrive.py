"""A file of an upload arrives: part by part, under a number for a name, counted against the limits of its job."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING

from acdnet.errors import InputRefused, ResourceError
from acdnet.viewer.states import UPLOAD, UPLOADING, Job

if TYPE_CHECKING:
    from acdnet.viewer.jobs import Jobs


async def take_file(jobs: Jobs, job: Job, number: int, parts: AsyncIterator[bytes]) -> None:
    """Write a file of a job; it has its name only when it is whole."""
    if job.state != UPLOADING:
        raise InputRefused(f"the job is {job.state}; files are taken while it is being uploaded")
    if not 0 <= number < job.files:
        raise InputRefused(f"file {number} of {job.files}")
    ending = "" if job.kind == "dicom" else f".{job.kind}"
    path = jobs.folder / job.id / UPLOAD / f"{number + 1:05d}{ending}"
    if path.exists():
        raise InputRefused(f"file {number} was sent already")
    growing, size, whole = path.with_name(f".{path.name}.part"), 0, False
    try:
        file = growing.open("xb")
    except FileExistsError as error:
        raise InputRefused(f"file {number} is being sent already") from error
    except OSError as error:
        raise ResourceError(f"the file cannot be kept ({error.strerror})") from error
    try:
        with file:
            async for part in parts:
                size += len(part)
                _count(jobs, job.id, len(part), size)
                file.write(part)
        growing.replace(path)
        whole = True
    except FileNotFoundError as error:
        raise InputRefused("the job was deleted") from error
    except OSError as error:
        raise ResourceError(f"the file cannot be kept ({error.strerror})") from error
    finally:
        growing.unlink(missing_ok=True)
        with jobs.lock:
            if job.id in jobs.jobs:
                now = jobs.jobs[job.id]
                received, kept = (now.received + 1, now.bytes) if whole else (now.received, now.bytes - size)
                jobs.jobs[job.id] = replace(now, received=received, bytes=kept)


def _count(jobs: Jobs, id_: str, more: int, size: int) -> None:
    """Count bytes as they come, those of all files of a job together."""
    with jobs.lock:
        job = jobs.get(id_)
        jobs.jobs[id_] = replace(job, bytes=job.bytes + more)
        if job.state != UPLOADING:
            raise InputRefused(f"the job is {job.state}")
        if size > jobs.limits.file_bytes:
            raise InputRefused(f"a file is larger than {jobs.limits.file_bytes / 2**30:g} GB")
        if job.bytes + more > jobs.limits.job_bytes:
            raise InputRefused(f"the scan is larger than {jobs.limits.job_bytes / 2**30:g} GB")
    jobs.check_room()
