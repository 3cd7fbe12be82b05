"""F58: the worker has limits of memory and of time, so that the queue goes on."""

import os
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from acdnet.viewer.job import ENDED, PROGRESS, UPLOAD, Limits
from acdnet.viewer.jobs import Jobs
from acdnet.viewer.memory import memory_limit
from acdnet.viewer.worker import OUT_OF_MEMORY
from tests.viewer.server import until
from tests.viewer.test_worker import failed

TRY = """
from acdnet.viewer.memory import limit_memory
limit_memory(300 * 2**20)
limit_memory(2**40)  # not above what is allowed
try:
    kept = bytearray(2**30)
except MemoryError:
    print("refused")
kept = bytearray(2**20)
"""
QUICK, HANGS, GROWS = (
    "(place / 'result').mkdir()",
    "time.sleep(60)",
    "os.kill(os.getpid(), signal.SIGKILL)",
)
LIGHT = """
import os, pathlib, signal, sys, time
place = pathlib.Path(sys.argv[1])
exec((place / "upload/00001").read_text())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not apply the limit")
def test_f58_the_memory_of_a_process_is_limited() -> None:
    done = subprocess.run([sys.executable, "-c", TRY], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("refused\n", "")


def test_f58_the_limit_leaves_memory_for_others() -> None:
    assert 2**28 < memory_limit() < 2**50
    if sys.platform == "linux":
        total = int(Path("/proc/meminfo").read_text().split()[1]) * 1024
        assert 0.5 * total < memory_limit() < 0.9 * total


def test_f58_no_memory_is_said(tmp_path: Path) -> None:
    for error in (MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried")):
        report = failed(tmp_path, "acdnet.viewer.worker._reduce", error)
        assert (report["code"], report["message"]) == (5, OUT_OF_MEMORY)


def test_f58_an_endless_job_does_not_block_the_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acdnet.viewer.queue.WORKER", (sys.executable, "-S", "-c", LIGHT))
    monkeypatch.setattr("acdnet.viewer.queue.POLL_SECONDS", 0.05)
    with closing(Jobs(tmp_path / "jobs", Limits(stalled_seconds=1.2), start=False)) as jobs:
        for code in (HANGS, GROWS, QUICK):
            job = jobs.create(1, "dicom")
            (jobs.folder / job.id / UPLOAD / "00001").write_text(code)
            jobs.jobs[job.id] = replace(job, received=1)
            jobs.submit(job.id)
        jobs.queue.start()
        until(lambda: jobs.all()[-1].state == "done", 20)
        states = [(job.state, job.message) for job in jobs.all()]
    assert states == [
        ("failed", "stopped, because it made no progress for 0.02 minutes"),
        ("failed", "the system stopped the worker, perhaps because the memory was full"),
        ("done", ""),
    ]


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="Windows has no groups of processes")
@pytest.mark.parametrize("how", ["cancel", "stall", "exit", "close"])
def test_f58_what_a_worker_has_started_ends_with_it(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = tmp_path / "started"
    waits = "sys.exit(3)" if how == "exit" else "time.sleep(60)"
    code = f"""
child = os.fork()
if child == 0:
    time.sleep(60)
pathlib.Path({str(started)!r}).write_text(str(child))
{waits}
"""
    monkeypatch.setattr("acdnet.viewer.queue.WORKER", (sys.executable, "-S", "-c", LIGHT))
    monkeypatch.setattr("acdnet.viewer.queue.POLL_SECONDS", 0.05)
    with closing(Jobs(tmp_path / "jobs", Limits(stalled_seconds=0.5 if how == "stall" else 60), start=False)) as jobs:
        job = jobs.create(1, "dicom")
        (jobs.folder / job.id / UPLOAD / "00001").write_text(code)
        jobs.jobs[job.id] = replace(job, received=1)
        jobs.submit(job.id)
        jobs.queue.start()
        child = int(until(lambda: started.exists() and started.read_text(), 20))
        if how == "cancel":
            jobs.cancel(job.id)
        if how != "close":
            until(lambda: jobs.get(job.id).state in ENDED, 20)
    until(lambda: not runs(child), 5)


def runs(process: int) -> bool:
    """Return whether a process is running; one that has ended may wait for its parent."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True).stdout
    return found.strip()[:1] not in ("", "Z")


def test_f58_progress_keeps_a_job_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    works = f"for n in range(9): (place / {PROGRESS!r}).write_text(str(n)); time.sleep(0.2)\n{QUICK}"
    monkeypatch.setattr("acdnet.viewer.queue.WORKER", (sys.executable, "-S", "-c", LIGHT))
    monkeypatch.setattr("acdnet.viewer.queue.POLL_SECONDS", 0.05)
    with closing(Jobs(tmp_path / "jobs", Limits(stalled_seconds=1.5), start=False)) as jobs:
        job = jobs.create(1, "dicom")
        (jobs.folder / job.id / UPLOAD / "00001").write_text(works)
        jobs.jobs[job.id] = replace(job, received=1)
        jobs.submit(job.id)
        jobs.queue.start()
        until(lambda: jobs.get(job.id).state == "done", 20)
