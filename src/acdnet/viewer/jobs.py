"""Uploaded scans: received, queued, reduced one at a time, and kept until the user deletes them.

    FOLDER/<id>/job.json     the record of the job, written atomically
    FOLDER/<id>/upload/      uploaded files under running numbers; no name from outside is used
    FOLDER/<id>/result/      output of `acdnet reduce`; result-1, result-2, ... after it was reduced again

All state is on disk. After a crash the server queues the waiting jobs again in their order, and an interrupted job
continues with the slices that were finished.
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

from acdnet.errors import AcdnetError, InputRefused, PlaceTaken, ResourceError
from acdnet.files import locked, write_atomically
from acdnet.viewer.job import (
    CANCELLED,
    DONE,
    ENDED,
    FAILED,
    JOB,
    KINDS,
    QUEUED,
    RUNNING,
    UPLOAD,
    UPLOADING,
    Job,
    Limits,
    clean_up,
    read_job,
    read_progress,
    remove_partial,
    result_name,
    stopped,
)
from acdnet.viewer.queue import Queue
from acdnet.viewer.safe_read import refuse_link
from acdnet.viewer.upload import receive_file

ID = re.compile(r"[0-9a-f]{16}")
NUMBERS = ".numbers"
"""File with the last job number that was assigned."""
NEW, DELETED = ".new-", ".deleted-"
"""Prefixes of job folders that are being created or deleted."""
STOP_SECONDS = 10.0
"""How long deletion waits for a running worker to stop."""


class Jobs:
    """All jobs in a folder, with their queue."""

    def __init__(self, folder: Path, limits: Limits | None = None, start: bool = True) -> None:
        self.folder, self.limits = folder, limits or Limits()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise ResourceError(f"{folder}: cannot be created ({error.strerror})") from error
        self.folder_lock = ExitStack()
        try:
            self.folder_lock.enter_context(locked(folder / ".lock"))
        except PlaceTaken as error:
            raise PlaceTaken(f"{folder}: another acdnet serve is using this folder") from error
        self.lock = threading.RLock()
        self.last_activity: dict[str, float] = {}
        """When each upload last received data."""
        self.deleting: dict[str, Job] = {}
        """Jobs that are being deleted."""
        self.jobs = self._read_all()
        self.queue = Queue(self)
        if start:
            self.queue.start()

    # state -------------------------------------------------------------------------------------------------------

    def _read_all(self) -> dict[str, Job]:
        jobs = {}
        remove_partial(self.folder, (NUMBERS,))
        for folder in self.folder.iterdir():
            if folder.name.startswith((NEW, DELETED)):
                shutil.rmtree(folder, ignore_errors=True)
            if not ID.fullmatch(folder.name) or folder.is_symlink():
                continue
            try:
                job = read_job(folder)
            except InputRefused:
                continue  # not a job, or damaged: leave it alone
            if job.state == RUNNING:
                job = replace(job, state=QUEUED)
            elif job.state == UPLOADING:
                job = replace(job, state=FAILED, message="the upload was interrupted; upload the scan again")
            if job.state in ENDED:
                clean_up(folder, job)
            jobs[job.id] = job
            with suppress(AcdnetError, OSError):
                self._save(job)
        return _sorted(jobs)

    def _save(self, job: Job, folder: Path | None = None) -> None:
        write_atomically({(folder or self.folder / job.id) / JOB: json.dumps(asdict(job)).encode()})

    def change(self, job: Job, **changes: object) -> Job:
        """Change a job. If the disk is full, the change is kept in memory and repeated at the next start."""
        with self.lock:
            changed = replace(self.jobs.get(job.id, job), **changes)  # type: ignore[arg-type]
            if job.id in self.jobs:
                self.jobs[job.id] = changed
                with suppress(AcdnetError, OSError):
                    self._save(changed)
            return changed

    def get(self, id_: str) -> Job:
        """Return a job by its id."""
        with self.lock:
            if id_ not in self.jobs:
                raise InputRefused("no such job; it may have been deleted")
            return self.jobs[id_]

    def all(self) -> list[Job]:
        """Return all jobs, oldest first."""
        with self.lock:
            return list(self.jobs.values())

    def progress(self, id_: str) -> dict[str, object]:
        """Return the progress that the worker reported."""
        return read_progress(self.folder / id_) if ID.fullmatch(id_) else {}

    # upload ------------------------------------------------------------------------------------------------------

    def create(self, files: int, kind: str) -> Job:
        """Create a job for an upload of `files` files."""
        if not 1 <= files <= self.limits.files:
            raise InputRefused(f"{files} files; a scan must have between 1 and {self.limits.files}")
        if kind not in KINDS or (kind != "dicom" and files != 1):
            raise InputRefused(
                f"{files} files of type {kind:.20}; upload the DICOM files of one series, or one NIfTI volume"
            )
        self.cancel_idle_uploads()
        with self.lock:
            if len(self.jobs) >= self.limits.jobs:
                raise ResourceError(f"there are already {len(self.jobs)} scans; delete some first")
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
                raise ResourceError(f"the scan cannot be stored ({error})") from error
            self.jobs[job.id] = job
            self.note_activity(job.id)
            return job

    def _number(self) -> int:
        """Return the next job number; numbers are never reused, even after deletion."""
        counter, number = self.folder / NUMBERS, max((job.number for job in self.jobs.values()), default=0)
        with suppress(OSError, ValueError):
            number = max(number, int(counter.read_text()))
        with suppress(OSError, AcdnetError):
            write_atomically({counter: str(number + 1).encode()})
        return number + 1

    async def receive(self, id_: str, number: int, parts: AsyncIterator[bytes]) -> None:
        """Receive a file in parts, so that memory use does not depend on its size."""
        await receive_file(self, id_, number, parts)

    def note_activity(self, id_: str) -> None:
        """Note that an upload received data."""
        self.last_activity[id_] = time.monotonic()

    def cancel_idle_uploads(self) -> None:
        """Cancel idle uploads; otherwise they would count towards the limit forever."""
        with self.lock:
            uploads = [job for job in self.jobs.values() if job.state == UPLOADING]
            self.last_activity = {job.id: self.last_activity.get(job.id, time.monotonic()) for job in uploads}
            oldest = time.monotonic() - self.limits.idle_seconds
            idle = [job for job in uploads if self.last_activity[job.id] < oldest]
            ended = [
                self.change(job, state=FAILED, message="the upload stopped; upload the scan again") for job in idle
            ]
        for job in ended:
            clean_up(self.folder / job.id, job)

    def check_room(self) -> None:
        """Refuse data when the disk is nearly full."""
        if shutil.disk_usage(self.folder).free < self.limits.reserve_bytes:
            raise ResourceError("the disk is nearly full; delete finished scans")

    def submit(self, id_: str) -> Job:
        """Queue a job whose files have all arrived."""
        with self.lock:
            job = self.get(id_)
            if job.state != UPLOADING:
                return job  # a repeated request
            if job.received != job.files:
                raise InputRefused(f"{job.received} of {job.files} files have arrived")
            return self.enqueue(replace(job, state=QUEUED))

    def enqueue(self, job: Job) -> Job:
        """Queue a job; it is on disk before the request is answered."""
        self._save(job)
        self.jobs[job.id] = job
        self.queue.wake.set()
        return job

    def cancel(self, id_: str) -> Job:
        """Stop a job and delete its files, but not the result that it had before."""
        with self.lock:
            job = self.get(id_)
            if job.state in ENDED:
                return job
            job = self.change(job, **stopped(job, CANCELLED, "cancelled"))
            running = self.queue.stop(id_)
            if job.state == DONE and not running:  # in the lock: it can be queued again at once
                clean_up(self.folder / id_, job)
        if job.state != DONE and not running:
            clean_up(self.folder / id_, job)  # outside the lock: other requests need not wait for the disk
        return job

    def delete(self, id_: str) -> None:
        """Delete a job with all its files; an incomplete deletion can be repeated."""
        deleted = self.folder / f"{DELETED}{id_}"
        if not (ID.fullmatch(id_) and deleted.is_dir()):
            self.cancel(id_)
            self._move_away(id_, deleted)
        shutil.rmtree(deleted, ignore_errors=True)  # outside the lock
        with self.lock:
            if not deleted.exists():
                self.deleting.pop(id_, None)
                self.jobs.pop(id_, None)
                return
            if id_ in self.deleting:  # it stays in the list, so that the user can try again
                message = "some files could not be deleted; delete it again"
                self.jobs[id_] = replace(self.deleting[id_], state=FAILED, needs="", message=message)
                self.jobs = _sorted(self.jobs)
        raise ResourceError("some files of the scan could not be deleted; try again")

    def _move_away(self, id_: str, deleted: Path) -> None:
        """Rename the folder of a job once its worker has stopped, so that nothing is written to it any more."""
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline:
            with self.lock:
                if self.queue.running != id_:
                    job = self.get(id_)
                    try:
                        with suppress(FileNotFoundError):  # deleted by hand
                            (self.folder / id_).rename(deleted)
                    except OSError as error:
                        raise ResourceError(f"the scan could not be deleted ({error.strerror}); try again") from error
                    self.deleting[id_] = self.jobs.pop(job.id)
                    return
            time.sleep(0.05)
        raise ResourceError("the job is still running; try again")

    def result(self, id_: str) -> Path:
        """Return the result folder of a job that is done, perhaps while it is reduced again."""
        job = self.get(id_)
        if job.state != DONE and not job.again:
            raise InputRefused(f"the job is {job.state}; it has no result")
        folder = self.folder / id_ / result_name(job.runs)
        for place in (folder.parent, folder):
            refuse_link(place)
        return folder

    def close(self) -> None:
        """Stop; an interrupted job continues at the next start."""
        self.queue.close()
        self.folder_lock.close()


def _sorted(jobs: dict[str, Job]) -> dict[str, Job]:
    return dict(sorted(jobs.items(), key=lambda item: item[1].number))
