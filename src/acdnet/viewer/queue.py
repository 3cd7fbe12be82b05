"""The job queue: jobs run one at a time, each in its own process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from acdnet.errors import ResourceError
from acdnet.viewer.job import (
    ANY_PLANE,
    AT_REST,
    DONE,
    FAILED,
    LOSSY,
    PROGRESS,
    QUEUED,
    RUNNING,
    SERIES,
    Job,
    clean_up,
    stopped,
)
from acdnet.viewer.objects import objects_in

if TYPE_CHECKING:
    from acdnet.viewer.jobs import Jobs

WORKER = (sys.executable, "-m", "acdnet.viewer.worker")
"""Command of the worker process; the job folder and the options follow."""
BUSY = ResourceError.exit_code
"""Exit code of a worker that found another process still writing the result."""
POLL_SECONDS = 1.0
OPTIONS = ("kind", SERIES, ANY_PLANE, LOSSY, "keep", "drop", "target")
"""What the worker needs to know of a job."""
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""Windows has no SIGKILL."""


class Queue(threading.Thread):
    """The thread that runs the jobs of a folder."""

    def __init__(self, jobs: Jobs) -> None:
        super().__init__(name="queue", daemon=True)
        self.jobs = jobs
        self.wake = threading.Event()
        self.closing = False
        self.process: subprocess.Popen[bytes] | None = None
        self.running = ""

    def stop(self, id_: str) -> bool:
        """Terminate the worker of a job; return False if the job is not running."""
        if self.running != id_ or self.process is None:
            return False
        _end(self.process, signal.SIGTERM)
        return True

    def run(self) -> None:
        """Run jobs until the server stops; a failing job never ends the queue."""
        while not self.closing:
            job = self._next()
            if job is None:
                self.wake.wait(POLL_SECONDS)
                self.wake.clear()
                self.jobs.cancel_idle_uploads()
                continue
            try:
                self._run_job(job)
            except Exception as error:
                reason = getattr(error, "strerror", None) or type(error).__name__
                self.jobs.change(job, **stopped(job, FAILED, f"could not be started ({reason})"))

    def _next(self) -> Job | None:
        with self.jobs.lock:
            waiting = [job for job in self.jobs.all() if job.state == QUEUED]
            return min(waiting, key=lambda job: job.number) if waiting else None

    def _run_job(self, job: Job) -> None:
        folder = self.jobs.folder / job.id
        with self.jobs.lock:
            if job not in self.jobs.all():
                return  # cancelled or deleted in the meantime
            self.jobs.change(job, state=RUNNING)
            (folder / PROGRESS).unlink(missing_ok=True)  # left by an earlier run
            options = {name: getattr(job, name) for name in OPTIONS}
            command = [*WORKER, str(folder), json.dumps(options)]
            null = subprocess.DEVNULL
            self.process = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.PIPE, stdout=null, stderr=null, start_new_session=True
            )
            self.running = job.id
        with self.process as process:  # closes the pipe at the end
            code, stalled = self._wait(process, folder / PROGRESS)
            _end(process, KILL)  # also what the worker has started and left
        with self.jobs.lock:
            self.process, self.running = None, ""
            now = next((one for one in self.jobs.all() if one.id == job.id), None)
            if now is None or self.closing:
                return
            progress = self.jobs.progress(job.id)
            if code == BUSY and progress.get("busy") and now.state == RUNNING:
                self.jobs.change(now, state=QUEUED)  # the worker of a killed server is still running
            else:
                if now.state == RUNNING:  # it was not cancelled
                    good = code == 0 and (folder / now.target).is_dir()
                    message = str(progress.get("message", "")) or ("" if good else self._reason(code, stalled))
                    ended = _finished(folder, now, message) if good else stopped(now, FAILED, message)
                    now = self.jobs.change(now, **(_choice(progress) | ended))
                clean_up(folder, now)
                return
        self.wake.wait(POLL_SECONDS)

    def _wait(self, process: subprocess.Popen[bytes], progress: Path) -> tuple[int, bool]:
        """Wait until a worker ends, or stop it when it stalls; return its exit code and whether it was stopped."""
        reported, since, stalled = 0, time.monotonic(), False
        while True:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(POLL_SECONDS), stalled
            with suppress(OSError):
                if (latest := progress.stat().st_mtime_ns) != reported:
                    reported, since = latest, time.monotonic()
            self.jobs.cancel_idle_uploads()
            if time.monotonic() - since > self.jobs.limits.stalled_seconds:
                stalled = True
                _end(process, KILL)

    def _reason(self, code: int, stalled: bool) -> str:
        """Say why a worker ended without a message."""
        if stalled:
            return f"stopped, because it made no progress for {self.jobs.limits.stalled_seconds / 60:.3g} minutes"
        if code == -KILL:
            return "the system stopped the worker, perhaps because the memory was full"
        return f"the worker exited with code {code}"

    def close(self) -> None:
        """Stop the queue and its worker."""
        self.closing = True
        with self.jobs.lock:
            if self.process is not None:
                _end(self.process, signal.SIGTERM)
        self.wake.set()
        if self.is_alive():
            self.join(10.0)


def _end(process: subprocess.Popen[bytes], how: int) -> None:
    """Send a signal to a worker and to the processes it has started, or to the worker where there are no groups."""
    if not hasattr(os, "killpg"):  # Windows
        process.terminate()
        return
    with suppress(ProcessLookupError, PermissionError):  # all have ended
        os.killpg(process.pid, how)


def _finished(folder: Path, job: Job, message: str) -> dict[str, object]:
    """Return what changes when the new result of a job becomes valid."""
    objects, _ = objects_in(folder / job.target)
    record = {"state": DONE, "message": message, "runs": job.runs + job.again, "objects": len(objects)}
    return record | AT_REST


def _choice(progress: dict[str, object]) -> dict[str, object]:
    choices = progress.get("choices")
    titles = tuple(str(title) for title in choices) if isinstance(choices, list) else ()
    return {"needs": str(progress.get("needs", "")), "choices": titles}
