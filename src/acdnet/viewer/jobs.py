"""Scans that were dropped into the page: uploaded, queued, reduced one after the other, kept until they are deleted.

    FOLDER/<id>/job.json     what it is and how far it has come; written whole or not at all
    FOLDER/<id>/upload/      its files, named by running numbers: no name from outside is ever used
    FOLDER/<id>/result/      what `acdnet reduce` wrote

The state is on disk, so that a server that was killed goes on where it was: what was queued is queued again in the old
order, what was being reduced goes on with its finished slices. Each job runs in a process of its own, which ends when
the server does.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import threading
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from acdnet.errors import AcdnetError, InputRefused, PlaceTaken, ResourceError
from acdnet.files import locked, write_atomically
from acdnet.viewer.arrive import take_file
from acdnet.viewer.queue import Queue
from acdnet.viewer.states import (
    ANY_PLANE,
    CANCELLED,
    DONE,
    ENDED,
    FAILED,
    JOB,
    KINDS,
    LOSSY,
    QUEUED,
    RESULT,
    RUNNING,
    SERIES,
    UPLOAD,
    UPLOADING,
    Job,
    Limits,
    clear,
    clear_staged,
    read_job,
    read_progress,
)

ID = re.compile(r"[0-9a-f]{16}")
NUMBERS = ".numbers"
"""Where the last number that was given is kept."""
NEW, GONE = ".new-", ".gone-"
"""How names begin of what is being made, and of what is being deleted; neither is a job."""


class Jobs:
    """All jobs of a folder, and the thread that works on them."""

    def __init__(self, folder: Path, limits: Limits | None = None, start: bool = True) -> None:
        self.folder, self.limits = folder, limits or Limits()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise ResourceError(f"{folder}: cannot be made ({error.strerror})") from error
        self.held = ExitStack()
        try:
            self.held.enter_context(locked(folder / ".lock"))
        except PlaceTaken as error:
            raise PlaceTaken(f"{folder}: another acdnet serve is using this folder") from error
        self.lock = threading.RLock()
        self.last: dict[str, float] = {}
        """When something came last of an upload."""
        self.going: dict[str, Job] = {}
        """Jobs that are being deleted."""
        self.jobs = self._read_all()
        self.queue = Queue(self)
        if start:
            self.queue.start()

    # state -------------------------------------------------------------------------------------------------------

    def _read_all(self) -> dict[str, Job]:
        found = {}
        clear_staged(self.folder, (NUMBERS,))
        for place in self.folder.iterdir():
            if place.name.startswith((NEW, GONE)):
                shutil.rmtree(place, ignore_errors=True)
            if not ID.fullmatch(place.name) or place.is_symlink():
                continue
            try:
                job = read_job(place)
            except InputRefused:
                continue  # not ours, or not whole: left alone
            if job.state == RUNNING:
                job = replace(job, state=QUEUED)
            elif job.state == UPLOADING:
                job = replace(job, state=FAILED, message="the upload was interrupted; send the scan again")
            if job.state in ENDED:
                clear(place, job)
            found[job.id] = job
            with suppress(AcdnetError, OSError):
                self._save(job)
        return _in_order(found)

    def _save(self, job: Job, place: Path | None = None) -> None:
        write_atomically({(place or self.folder / job.id) / JOB: json.dumps(asdict(job)).encode()})

    def change(self, job: Job, **changes: object) -> Job:
        """Change a job. A full disk does not hold it up: what is not written is found out again at the next start."""
        with self.lock:
            changed = replace(self.jobs.get(job.id, job), **changes)  # type: ignore[arg-type]
            if job.id in self.jobs:
                self.jobs[job.id] = changed
                with suppress(AcdnetError, OSError):
                    self._save(changed)
            return changed

    def get(self, id_: str) -> Job:
        """Return a job by its name."""
        with self.lock:
            if id_ not in self.jobs:
                raise InputRefused("no such job")
            return self.jobs[id_]

    def all(self) -> list[Job]:
        """Return all jobs, the oldest first."""
        with self.lock:
            return list(self.jobs.values())

    def progress(self, id_: str) -> dict[str, object]:
        """Return what the job is doing and how much of it is done."""
        return read_progress(self.folder / id_) if ID.fullmatch(id_) else {}

    # upload ------------------------------------------------------------------------------------------------------

    def create(self, files: int, kind: str) -> Job:
        """Begin a job of so many files."""
        if not 1 <= files <= self.limits.files:
            raise InputRefused(f"{files} files; a scan has between 1 and {self.limits.files}")
        if kind not in KINDS or (kind != "dicom" and files != 1):
            raise InputRefused("send the DICOM files of one series, or one NIfTI volume")
        self.give_up_idle()
        with self.lock:
            if len(self.jobs) >= self.limits.jobs:
                raise ResourceError(f"there are {len(self.jobs)} scans already; delete some")
            self.check_room()
            job = Job(secrets.token_hex(8), self._number(), UPLOADING, time.time(), files, kind=kind)
            new = self.folder / f"{NEW}{job.id}"
            try:
                new.mkdir(mode=0o700)
                (new / UPLOAD).mkdir(mode=0o700)
                self._save(job, new)
                new.rename(self.folder / job.id)
            except (OSError, AcdnetError) as error:
                shutil.rmtree(new, ignore_errors=True)
                raise ResourceError(f"the scan cannot be kept ({error})") from error
            self.jobs[job.id] = job
            self.heard(job.id)
            return job

    def _number(self) -> int:
        """Return the next number; none is given twice, even if the last was deleted."""
        counter, number = self.folder / NUMBERS, max((job.number for job in self.jobs.values()), default=0)
        with suppress(OSError, ValueError):
            number = max(number, int(counter.read_text()))
        with suppress(OSError, AcdnetError):
            write_atomically({counter: str(number + 1).encode()})
        return number + 1

    async def receive(self, id_: str, number: int, parts: AsyncIterator[bytes]) -> None:
        """Take a file, part by part, so that memory does not grow with it."""
        await take_file(self, id_, number, parts)

    def heard(self, id_: str) -> None:
        """Note that something came of an upload."""
        self.last[id_] = time.monotonic()

    def give_up_idle(self) -> None:
        """End uploads of which nothing comes any more: they would count for ever."""
        with self.lock:
            uploads = [job for job in self.jobs.values() if job.state == UPLOADING]
            self.last = {job.id: self.last.get(job.id, time.monotonic()) for job in uploads}
            oldest = time.monotonic() - self.limits.idle_seconds
            idle = [job for job in uploads if self.last[job.id] < oldest]
            ended = [self.change(job, state=FAILED, message="the upload stopped; send the scan again") for job in idle]
        for job in ended:
            clear(self.folder / job.id, job)

    def check_room(self) -> None:
        """Refuse more when the disk is nearly full."""
        if shutil.disk_usage(self.folder).free < self.limits.reserve_bytes:
            raise ResourceError("the disk is nearly full; delete scans that are done")

    def submit(self, id_: str) -> Job:
        """Put a job into the queue, once all its files are there."""
        with self.lock:
            job = self.get(id_)
            if job.state != UPLOADING:
                return job  # asked twice; once is enough
            if job.received != job.files:
                raise InputRefused(f"{job.received} of {job.files} files have arrived")
            return self._enqueue(replace(job, state=QUEUED))

    def choose(self, id_: str, answer: int) -> Job:
        """Run a job again that failed for want of an answer: the number of a series from 1, or 1 for yes."""
        with self.lock:
            job = self.get(id_)
            if job.state in (QUEUED, RUNNING):
                return job  # asked twice; once is enough
            if job.state != FAILED or not job.asks:
                raise InputRefused("the job asks nothing")
            most = len(job.offered) if job.asks == SERIES else 1
            if not 1 <= answer <= most:
                raise InputRefused(f"there is no choice {answer}; there are {most}")
            given: dict[str, Any] = {job.asks: True}
            if job.asks == SERIES:  # what was accepted of another one is not accepted of this
                given = {SERIES: answer, ANY_PLANE: False, LOSSY: False}
            return self._enqueue(replace(job, state=QUEUED, message="", asks="", offered=(), **given))

    def _enqueue(self, job: Job) -> Job:
        """Put a job into the queue. It is on disk before anybody is told so."""
        self._save(job)
        self.jobs[job.id] = job
        self.queue.wake.set()
        return job

    def cancel(self, id_: str) -> Job:
        """Stop a job; its files are thrown away."""
        with self.lock:
            job = self.get(id_)
            if job.state in ENDED:
                return job
            job = self.change(job, state=CANCELLED, message="cancelled")
            running = self.queue.stop(id_)
        if not running:
            clear(self.folder / id_, job)  # nothing arrives any more; others need not wait for the disk
        return job

    def delete(self, id_: str) -> None:
        """Remove a job with everything that belongs to it; once more, if something of it could not be removed."""
        gone = self.folder / f"{GONE}{id_}"
        if not (ID.fullmatch(id_) and gone.is_dir()):
            self.cancel(id_)
            self._take_away(id_, gone)
        shutil.rmtree(gone, ignore_errors=True)  # others need not wait for the disk
        with self.lock:
            if not gone.exists():
                self.going.pop(id_, None)
                self.jobs.pop(id_, None)
                return
            if id_ in self.going:  # it stays in the list, where it can be deleted again
                said = "not all of it could be deleted; delete it again"
                self.jobs[id_] = replace(self.going[id_], state=FAILED, asks="", message=said)
                self.jobs = _in_order(self.jobs)
        raise ResourceError("not all of the scan could be deleted; try again")

    def _take_away(self, id_: str, gone: Path) -> None:
        """Give a job another name when it is not worked on, so that nothing arrives in it any more."""
        for _ in range(200):
            with self.lock:
                if self.queue.running != id_:
                    job = self.get(id_)
                    try:
                        (self.folder / id_).rename(gone)
                    except OSError as error:
                        raise ResourceError(f"the scan could not be deleted ({error.strerror}); try again") from error
                    self.going[id_] = self.jobs.pop(job.id)
                    return
            time.sleep(0.05)
        raise ResourceError("the job does not stop; try again")

    def result(self, id_: str) -> Path:
        """Return the folder of a finished job."""
        job = self.get(id_)
        if job.state != DONE:
            raise InputRefused(f"the job is {job.state}")
        return self.folder / id_ / RESULT

    def close(self) -> None:
        """Stop working; what was being done is taken up next time."""
        self.queue.close()
        self.held.close()


def _in_order(jobs: dict[str, Job]) -> dict[str, Job]:
    return dict(sorted(jobs.items(), key=lambda item: item[1].number))
