"""The queue: jobs are reduced one after the other, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from acdnet.errors import ResourceError
from acdnet.viewer.states import (
    ANY_PLANE,
    CANCELLED,
    DONE,
    FAILED,
    LOSSY,
    PROGRESS,
    QUEUED,
    RESULT,
    RUNNING,
    SERIES,
    Job,
    clear,
)

if TYPE_CHECKING:
    from acdnet.viewer.jobs import Jobs

WORKER = (sys.executable, "-m", "acdnet.viewer.work")
"""The process that reduces; the folder of its job and how to read it follow."""
BUSY = ResourceError.exit_code
"""How a process ends that found the place taken, by one that is about to end."""


class Queue(threading.Thread):
    """The thread that works on the jobs of a folder."""

    def __init__(self, jobs: Jobs) -> None:
        super().__init__(name="queue", daemon=True)
        self.jobs = jobs
        self.wake = threading.Event()
        self.closing = False
        self.process: subprocess.Popen[bytes] | None = None
        self.running = ""

    def stop(self, id_: str) -> bool:
        """End the process of a job if it is being worked on; tell whether it is."""
        if self.running != id_ or self.process is None:
            return False
        self.process.terminate()
        return True

    def run(self) -> None:
        """Work until the server stops; nothing that happens to a job ends the queue."""
        while not self.closing:
            job = self._next()
            if job is None:
                self.wake.wait(1.0)
                self.wake.clear()
                self.jobs.give_up_idle()
                continue
            try:
                self._reduce(job)
            except Exception as error:
                self.jobs.change(job, state=FAILED, message=f"could not be started ({error})")

    def _next(self) -> Job | None:
        with self.jobs.lock:
            waiting = [job for job in self.jobs.all() if job.state == QUEUED]
            return min(waiting, key=lambda job: job.number) if waiting else None

    def _reduce(self, job: Job) -> None:
        place = self.jobs.folder / job.id
        with self.jobs.lock:
            if job not in self.jobs.all():
                return  # it was cancelled or deleted meanwhile
            self.jobs.change(job, state=RUNNING)
            (place / PROGRESS).unlink(missing_ok=True)  # what an earlier run said
            how = {name: getattr(job, name) for name in ("kind", SERIES, ANY_PLANE, LOSSY)}
            command = [*WORKER, str(place), json.dumps(how)]
            nothing = subprocess.DEVNULL
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=nothing, stderr=nothing)  # noqa: S603
            self.running = job.id
        with self.process as process:  # closes the pipe when it has ended
            code = process.wait()
        with self.jobs.lock:
            self.process, self.running = None, ""
            now = next((one for one in self.jobs.all() if one.id == job.id), None)
            if now is None or self.closing:
                return
            told = self.jobs.progress(job.id)
            if code == BUSY and told.get("taken") and now.state == RUNNING:
                self.jobs.change(now, state=QUEUED)  # the process of a killed server has not ended yet
            else:
                if now.state != CANCELLED:
                    good = code == 0 and (place / RESULT).is_dir()
                    message = str(told.get("message", "")) or ("" if good else f"the process ended with {code}")
                    now = self.jobs.change(now, state=DONE if good else FAILED, message=message, **_question(told))
                clear(place, now)
                return
        self.wake.wait(1.0)

    def close(self) -> None:
        """Stop working."""
        self.closing = True
        with self.jobs.lock:
            if self.process is not None:
                self.process.terminate()
        self.wake.set()
        if self.is_alive():
            self.join(10.0)


def _question(told: dict[str, object]) -> dict[str, object]:
    offered = told.get("offered")
    titles = tuple(str(title) for title in offered) if isinstance(offered, list) else ()
    return {"asks": str(told.get("asks", "")), "offered": titles}
