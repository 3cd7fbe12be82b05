"""Receive one file of an upload in parts and check it against the limits of its job."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import IO, TYPE_CHECKING

import anyio
from starlette.concurrency import run_in_threadpool

from acdnet.errors import InputRefused, ResourceError
from acdnet.viewer.job import UPLOAD, UPLOADING, Job
from acdnet.viewer.safe_read import refuse_link

if TYPE_CHECKING:
    from acdnet.viewer.jobs import Jobs

CHUNK_BYTES = 2**18
"""Bytes written at a time; this much of a file is held in memory."""


async def receive_file(jobs: Jobs, id_: str, number: int, parts: AsyncIterator[bytes]) -> None:
    """Write a file of a job. Disk access and locks run in threads, so that the server keeps answering."""
    upload, buffer = _FileUpload(jobs, id_, number), bytearray()
    try:
        await run_in_threadpool(upload.begin)
        async for part in parts:
            buffer += part
            if len(buffer) >= CHUNK_BYTES:
                await run_in_threadpool(upload.write, bytes(buffer))
                buffer.clear()
        await run_in_threadpool(upload.write, bytes(buffer))
        await run_in_threadpool(upload.finish)
    finally:
        with anyio.CancelScope(shield=True):  # also when the server is stopping
            await run_in_threadpool(upload.discard_unfinished)


class _FileUpload:
    """A file that gets its final name once it is complete."""

    def __init__(self, jobs: Jobs, id_: str, number: int) -> None:
        self.jobs, self.id, self.number = jobs, id_, number
        self.file: IO[bytes] | None = None
        self.size, self.complete = 0, False

    def begin(self) -> None:
        """Create the partial file; refuse a second upload of the same file."""
        with self.jobs.lock:
            job = self._uploading_job()
            if not 0 <= self.number < job.files:
                raise InputRefused(f"file number {self.number} does not exist; the upload has {job.files} files")
            ending = "" if job.kind == "dicom" else f".{job.kind}"
            for place in (self.jobs.folder / job.id, self.jobs.folder / job.id / UPLOAD):
                refuse_link(place)
            self.path = self.jobs.folder / job.id / UPLOAD / f"{self.number + 1:05d}{ending}"
            self.partial = self.path.with_name(f".{self.path.name}.part")
            if self.path.exists():
                raise InputRefused(f"file {self.number} was already uploaded")
            try:
                self.file = self.partial.open("xb")
            except FileExistsError as error:
                raise InputRefused(f"file {self.number} is already being uploaded") from error
            except OSError as error:
                raise _cannot_store(error) from error

    def write(self, part: bytes) -> None:
        """Write bytes and count them towards the limits of the file and of the job."""
        limits = self.jobs.limits
        with self.jobs.lock:
            job = self._uploading_job()
            self.size += len(part)
            self.jobs.jobs[job.id] = replace(job, bytes=job.bytes + len(part))
            if self.size > limits.file_bytes:
                raise InputRefused(f"a file is larger than {limits.file_bytes / 2**30:g} GiB, the limit for one file")
            if job.bytes + len(part) > limits.job_bytes:
                raise InputRefused(f"the scan is larger than {limits.job_bytes / 2**30:g} GiB, the limit for a scan")
        self.jobs.check_room()
        assert self.file is not None
        try:
            self.file.write(part)
        except OSError as error:
            raise _cannot_store(error) from error

    def finish(self) -> None:
        """Give the file its final name."""
        assert self.file is not None
        try:
            self.file.close()
            with self.jobs.lock:
                job = self._uploading_job()
                self.partial.replace(self.path)
                self.complete = True
                self.jobs.jobs[job.id] = replace(job, received=job.received + 1)
        except OSError as error:
            raise _cannot_store(error) from error

    def discard_unfinished(self) -> None:
        """Remove an incomplete file and its bytes from the count."""
        if self.file is None or self.complete:
            return
        with suppress(OSError):  # a full disk was already reported
            self.file.close()
        with suppress(OSError):
            self.partial.unlink(missing_ok=True)
        with self.jobs.lock:
            if (job := self.jobs.jobs.get(self.id)) is not None:
                self.jobs.jobs[job.id] = replace(job, bytes=job.bytes - self.size)

    def _uploading_job(self) -> Job:
        job = self.jobs.get(self.id)
        if job.state != UPLOADING:
            raise InputRefused(f"the job is {job.state}; it accepts no more files")
        self.jobs.note_activity(job.id)
        return job


def _cannot_store(error: OSError) -> ResourceError:
    return ResourceError(f"the file cannot be stored ({error.strerror}); free disk space and upload the scan again")
