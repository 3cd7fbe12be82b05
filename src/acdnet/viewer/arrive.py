"""A file of an upload arrives: part by part, under a number for a name, counted against the limits of its job."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import IO, TYPE_CHECKING

import anyio
from starlette.concurrency import run_in_threadpool

from acdnet.errors import InputRefused, ResourceError
from acdnet.viewer.states import UPLOAD, UPLOADING, Job

if TYPE_CHECKING:
    from acdnet.viewer.jobs import Jobs

PART = 2**18
"""Bytes that are written at once; so much of a file is in memory."""


async def take_file(jobs: Jobs, id_: str, number: int, parts: AsyncIterator[bytes]) -> None:
    """Write a file of a job. Disk and locks are waited for in threads: the server goes on answering others."""
    arrival, waiting = _Arrival(jobs, id_, number), bytearray()
    try:
        await run_in_threadpool(arrival.begin)
        async for part in parts:
            waiting += part
            if len(waiting) >= PART:
                await run_in_threadpool(arrival.add, bytes(waiting))
                waiting.clear()
        await run_in_threadpool(arrival.add, bytes(waiting))
        await run_in_threadpool(arrival.finish)
    finally:
        with anyio.CancelScope(shield=True):  # also when the server is stopped
            await run_in_threadpool(arrival.leave)


class _Arrival:
    """A file that grows under another name, and has its own only when it is whole."""

    def __init__(self, jobs: Jobs, id_: str, number: int) -> None:
        self.jobs, self.id, self.number = jobs, id_, number
        self.file: IO[bytes] | None = None
        self.size, self.whole = 0, False

    def begin(self) -> None:
        """Make the file, once."""
        with self.jobs.lock:
            job = self._uploading()
            if not 0 <= self.number < job.files:
                raise InputRefused(f"file {self.number} of {job.files}")
            ending = "" if job.kind == "dicom" else f".{job.kind}"
            self.path = self.jobs.folder / job.id / UPLOAD / f"{self.number + 1:05d}{ending}"
            self.growing = self.path.with_name(f".{self.path.name}.part")
            if self.path.exists():
                raise InputRefused(f"file {self.number} was sent already")
            try:
                self.file = self.growing.open("xb")
            except FileExistsError as error:
                raise InputRefused(f"file {self.number} is being sent already") from error
            except OSError as error:
                raise ResourceError(f"the file cannot be kept ({error.strerror})") from error

    def add(self, part: bytes) -> None:
        """Write bytes, counted with those of all files of the job."""
        limits = self.jobs.limits
        with self.jobs.lock:
            job = self._uploading()
            self.size += len(part)
            self.jobs.jobs[job.id] = replace(job, bytes=job.bytes + len(part))
            if self.size > limits.file_bytes:
                raise InputRefused(f"a file is larger than {limits.file_bytes / 2**30:g} GB")
            if job.bytes + len(part) > limits.job_bytes:
                raise InputRefused(f"the scan is larger than {limits.job_bytes / 2**30:g} GB")
        self.jobs.check_room()
        assert self.file is not None
        try:
            self.file.write(part)
        except OSError as error:
            raise ResourceError(f"the file cannot be kept ({error.strerror})") from error

    def finish(self) -> None:
        """Give the file its name."""
        assert self.file is not None
        try:
            self.file.close()
            with self.jobs.lock:
                job = self._uploading()
                self.growing.replace(self.path)
                self.whole = True
                self.jobs.jobs[job.id] = replace(job, received=job.received + 1)
        except OSError as error:
            raise ResourceError(f"the file cannot be kept ({error.strerror})") from error

    def leave(self) -> None:
        """Take back what did not become a file."""
        if self.file is None or self.whole:
            return
        with suppress(OSError):  # a full disk is told when it is found
            self.file.close()
        with suppress(OSError):
            self.growing.unlink(missing_ok=True)
        with self.jobs.lock:
            if (job := self.jobs.jobs.get(self.id)) is not None:
                self.jobs.jobs[job.id] = replace(job, bytes=job.bytes - self.size)

    def _uploading(self) -> Job:
        job = self.jobs.get(self.id)
        if job.state != UPLOADING:
            raise InputRefused(f"the job is {job.state}; files are taken while it is being uploaded")
        self.jobs.heard(job.id)
        return job
