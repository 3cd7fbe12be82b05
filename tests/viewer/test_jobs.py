"""Jobs on disk: what happens to them when disks are full, servers stop and others write there."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from acdnet.errors import InputRefused, ResourceError
from acdnet.viewer.job import Limits
from acdnet.viewer.jobs import Jobs
from tests.viewer.server import Server


def test_an_upload_that_was_cut_off_is_told(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, start=False)
    job = jobs.create(3, "dicom")
    with pytest.raises(ResourceError, match="another acdnet serve"):
        Jobs(tmp_path)  # a second server would take the work of the first for its own
    jobs.close()
    again = Jobs(tmp_path, start=False)
    assert again.get(job.id).state == "failed"
    assert "interrupted" in again.get(job.id).message
    assert again.create(1, "dicom").number == 2
    again.delete(again.all()[-1].id)
    again.close()
    third = Jobs(tmp_path, start=False)
    assert third.create(1, "dicom").number == 3  # a number is given once
    third.close()


def test_a_full_disk_stops_neither_the_queue_nor_deletion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = Jobs(tmp_path / "jobs", start=False)
    names = [jobs.create(1, "dicom").id for _ in range(3)]
    for name in names:
        jobs.jobs[name] = replace(jobs.jobs[name], received=1)
        jobs.submit(name)

    def full(_: object) -> None:
        raise ResourceError("no space left")

    monkeypatch.setattr("acdnet.viewer.jobs.write_atomically", full)
    jobs.delete(names[0])
    assert not (tmp_path / "jobs" / names[0]).exists()
    with pytest.raises(ResourceError):
        jobs.create(1, "dicom")
    jobs.queue.start()
    end = time.monotonic() + 60
    while jobs.get(names[2]).state not in ("failed", "done") and time.monotonic() < end:
        time.sleep(0.1)
    assert [job.state for job in jobs.all()] == ["failed", "failed"]  # they held no file
    assert jobs.queue.is_alive()
    jobs.close()


def test_a_queued_job_can_go_at_any_time(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path / "jobs", start=False)
    job = replace(jobs.create(1, "dicom"), state="queued")
    jobs.jobs[job.id] = job
    jobs.delete(job.id)
    jobs.queue._run_job(job)  # it was chosen just before it was deleted
    assert jobs.all() == []
    jobs.close()


def test_parallel_files_share_one_limit(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path / "jobs", Limits(job_bytes=1500), start=False)
    job = jobs.create(3, "dicom")

    async def file() -> AsyncIterator[bytes]:
        for _ in range(9):
            await asyncio.sleep(0)
            yield bytes(100)

    async def send() -> list[BaseException | None]:
        return await asyncio.gather(*(jobs.receive(job.id, n, file()) for n in range(3)), return_exceptions=True)

    outcomes = asyncio.run(send())
    assert any(isinstance(outcome, InputRefused) for outcome in outcomes)
    assert sum(path.stat().st_size for path in (tmp_path / "jobs" / job.id / "upload").iterdir()) <= 1500
    jobs.close()


def test_what_was_being_written_goes(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, start=False)
    job = jobs.create(1, "dicom")
    jobs.close()
    (tmp_path / ".new-0123456789abcdef/upload").mkdir(parents=True)
    (tmp_path / "..numbers.x.partial").touch()
    for name in (".job.json.x.partial", ".progress.json.x.partial", "upload/.00001.part"):
        (tmp_path / job.id / name).touch()
    again = Jobs(tmp_path, start=False)
    again.close()
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert left == [".numbers", job.id, f"{job.id}/job.json"]


def test_what_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "holiday").mkdir()
    (tmp_path / ("0" * 16)).mkdir()
    (tmp_path / ("0" * 16) / "job.json").write_text("{}")
    jobs = Jobs(tmp_path, start=False)
    assert jobs.all() == []
    assert (tmp_path / "holiday").is_dir()
    jobs.close()


@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGTERM])
def test_a_server_stops_when_asked(signal_: signal.Signals, tmp_path: Path) -> None:
    server = Server(tmp_path / "jobs")
    assert server.end(signal_) in (0, 128 + signal_)
    assert sorted(path.name for path in (tmp_path / "jobs").iterdir()) == []  # it was cleared up
