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
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from acdnet.errors import AcdnetError, InputRefused, ResourceError
from acdnet.files import write_atomically

UPLOADING, QUEUED, RUNNING, DONE, FAILED, CANCELLED = (
    "uploading",
    "queued",
    "running",
    "done",
    "failed",
    "cancelled",
)
ENDED = (DONE, FAILED, CANCELLED)
ID = re.compile(r"[0-9a-f]{16}")
JOB, UPLOAD, RESULT, PROGRESS = "job.json", "upload", "result", "progress.json"


@dataclass(frozen=True)
class Limits:
    """How much is taken from a page."""

    file_bytes: int = 1 * 2**30
    job_bytes: int = 8 * 2**30
    files: int = 10_000
    jobs: int = 200


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


class Jobs:
    """All jobs of a folder, and the thread that works on them."""

    def __init__(self, folder: Path, limits: Limits | None = None, start: bool = True) -> None:
        self.folder, self.limits = folder, limits or Limits()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise ResourceError(f"{folder}: cannot be made ({error.strerror})") from error
        self.lock = threading.RLock()
        self.wake = threading.Event()
        self.closing = False
        self.process: subprocess.Popen[bytes] | None = None
        self.running = ""
        self.jobs = self._read_all()
        self.thread = threading.Thread(target=self._work, name="jobs", daemon=True)
        if start:
            self.thread.start()

    # state -------------------------------------------------------------------------------------------------------

    def _read_all(self) -> dict[str, Job]:
        found = {}
        for place in self.folder.iterdir():
            if not ID.fullmatch(place.name) or not (place / JOB).is_file():
                continue
            try:
                values = json.loads((place / JOB).read_text())
                job = Job(**{field.name: values[field.name] for field in fields(Job)})
            except (ValueError, KeyError, TypeError, OSError):
                continue  # not ours, or not whole: left alone
            if job.state == RUNNING:
                job = replace(job, state=QUEUED)
            elif job.state == UPLOADING:
                job = replace(job, state=FAILED, message="the upload was interrupted; send the scan again")
                shutil.rmtree(place / UPLOAD, ignore_errors=True)
            found[job.id] = job
        for job in found.values():
            self._save(job)
        return dict(sorted(found.items(), key=lambda item: item[1].number))

    def _save(self, job: Job) -> None:
        write_atomically({self.folder / job.id / JOB: json.dumps(asdict(job)).encode()})

    def _set(self, job: Job, **changes: object) -> Job:
        with self.lock:
            changed = replace(self.jobs[job.id], **changes)  # type: ignore[arg-type]
            self._save(changed)
            self.jobs[job.id] = changed
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
        try:
            told = json.loads((self.folder / self.get(id_).id / PROGRESS).read_text())
        except (OSError, ValueError):
            return {}
        return told if isinstance(told, dict) else {}

    # upload ------------------------------------------------------------------------------------------------------

    def create(self, files: int, kind: str) -> Job:
        """Begin a job of so many files."""
        if not 1 <= files <= self.limits.files:
            raise InputRefused(f"{files} files; a scan has between 1 and {self.limits.files}")
        if kind not in ("dicom", "nii", "nii.gz") or (kind != "dicom" and files != 1):
            raise InputRefused("send the DICOM files of one series, or one NIfTI volume")
        with self.lock:
            if len(self.jobs) >= self.limits.jobs:
                raise ResourceError(f"there are {len(self.jobs)} scans already; delete some")
            number = max((job.number for job in self.jobs.values()), default=0) + 1
            job = Job(secrets.token_hex(8), number, UPLOADING, time.time(), files, kind=kind)
            (self.folder / job.id / UPLOAD).mkdir(parents=True, mode=0o700)
            self.jobs[job.id] = job
            self._save(job)
            return job

    async def receive(self, id_: str, number: int, parts: AsyncIterator[bytes]) -> None:
        """Take a file, part by part, so that memory does not grow with it."""
        job = self.get(id_)
        if job.state != UPLOADING:
            raise InputRefused(f"the job is {job.state}; files are taken while it is being uploaded")
        if not 0 <= number < job.files:
            raise InputRefused(f"file {number} of {job.files}")
        ending = "" if job.kind == "dicom" else f".{job.kind}"
        path = self.folder / job.id / UPLOAD / f"{number + 1:05d}{ending}"
        if path.exists():
            raise InputRefused(f"file {number} was sent already")
        growing, size = path.with_name(f".{path.name}.part"), 0
        try:
            with growing.open("xb") as file:
                async for part in parts:
                    size += len(part)
                    if size > self.limits.file_bytes:
                        raise InputRefused(f"a file is larger than {self.limits.file_bytes / 2**30:g} GB")
                    if self.get(id_).bytes + size > self.limits.job_bytes:
                        raise InputRefused(f"the scan is larger than {self.limits.job_bytes / 2**30:g} GB")
                    file.write(part)
            growing.replace(path)
        except FileExistsError as error:
            raise InputRefused(f"file {number} is being sent already") from error
        except OSError as error:
            raise ResourceError(f"the file cannot be kept ({error.strerror})") from error
        finally:
            growing.unlink(missing_ok=True)
        with self.lock:
            now = self.get(id_)
            self.jobs[id_] = replace(now, received=now.received + 1, bytes=now.bytes + size)

    def submit(self, id_: str) -> Job:
        """Put a job into the queue, once all its files are there."""
        with self.lock:
            job = self.get(id_)
            if job.state != UPLOADING:
                return job  # asked twice; once is enough
            if job.received != job.files:
                raise InputRefused(f"{job.received} of {job.files} files have arrived")
            job = self._set(job, state=QUEUED)
        self.wake.set()
        return job

    def cancel(self, id_: str) -> Job:
        """Stop a job; its files are thrown away."""
        with self.lock:
            job = self.get(id_)
            if job.state in ENDED:
                return job
            job = self._set(job, state=CANCELLED, message="cancelled")
            if self.running == id_ and self.process is not None:
                self.process.terminate()
            else:
                shutil.rmtree(self.folder / id_ / UPLOAD, ignore_errors=True)
        return job

    def delete(self, id_: str) -> None:
        """Remove a job with everything that belongs to it."""
        self.cancel(id_)
        for _ in range(200):
            with self.lock:
                if self.running != id_:
                    self.jobs.pop(id_, None)
                    shutil.rmtree(self.folder / id_, ignore_errors=True)
                    return
            time.sleep(0.05)
        raise ResourceError("the job does not stop; try again")

    def result(self, id_: str) -> Path:
        """Return the folder of a finished job."""
        job = self.get(id_)
        if job.state != DONE:
            raise InputRefused(f"the job is {job.state}")
        return self.folder / id_ / RESULT

    # work --------------------------------------------------------------------------------------------------------

    def _next(self) -> Job | None:
        with self.lock:
            waiting = [job for job in self.jobs.values() if job.state == QUEUED]
            return min(waiting, key=lambda job: job.number) if waiting else None

    def _work(self) -> None:
        while not self.closing:
            job = self._next()
            if job is None:
                self.wake.wait(1.0)
                self.wake.clear()
                continue
            try:
                self._run(job)
            except (OSError, AcdnetError) as error:
                self._set(job, state=FAILED, message=f"could not be started ({error})")

    def _run(self, job: Job, start: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen) -> None:
        place = self.folder / job.id
        with self.lock:
            if self.get(job.id).state != QUEUED:
                return
            self._set(job, state=RUNNING)
            command = [sys.executable, "-m", "acdnet.viewer.work", str(place), job.kind]
            quiet = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            self.process, self.running = start(command, **quiet), job.id
        with self.process as process:  # closes the pipe when it has ended
            code = process.wait()
        with self.lock:
            self.process, self.running = None, ""
            now = self.jobs.get(job.id)
            if now is None or self.closing:
                return
            told = self.progress(job.id)
            if now.state == CANCELLED:
                shutil.rmtree(place / UPLOAD, ignore_errors=True)
                shutil.rmtree(place / f".{RESULT}.partial", ignore_errors=True)
            elif code == 0 and (place / RESULT).is_dir():
                self._set(now, state=DONE, message=str(told.get("message", "")))
                shutil.rmtree(place / UPLOAD, ignore_errors=True)
            else:
                self._set(now, state=FAILED, message=str(told.get("message") or f"the process ended with {code}"))
                shutil.rmtree(place / UPLOAD, ignore_errors=True)

    def close(self) -> None:
        """Stop working; what was being done is taken up next time."""
        self.closing = True
        with self.lock:
            if self.process is not None:
                self.process.terminate()
        self.wake.set()
        if self.thread.is_alive():
            self.thread.join(10.0)
