"""Uploads and their limits."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from acdnet.errors import InputRefused
from acdnet.viewer.job import FAILED, UPLOADING, Limits
from acdnet.viewer.jobs import Jobs
from tests.viewer.server import API, client_of, until


def test_uploads_beyond_the_limits_are_refused(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path / "jobs", Limits(file_bytes=1000, job_bytes=1500, files=3, jobs=2), start=False)
    with client_of(jobs=jobs) as client:
        base = f"{API}/jobs"
        bad: list[Any] = [{"files": count, "kind": "dicom"} for count in (4, 0, "many")]
        for wanted in (*bad, {"files": 2, "kind": "nii"}, {"files": 1, "kind": "exe"}, {}, []):
            assert client.post(base, json=wanted).status_code == 400
        name = client.post(base, json={"files": 3, "kind": "dicom"}).json()["id"]
        assert client.put(f"{base}/{name}/files/0", content=bytes(1001)).status_code == 400
        assert client.put(f"{base}/{name}/files/0", content=bytes(900)).status_code == 200
        assert client.put(f"{base}/{name}/files/0", content=bytes(10)).status_code == 400  # twice
        assert client.put(f"{base}/{name}/files/1", content=bytes(900)).status_code == 400  # the scan is too large
        assert client.put(f"{base}/{name}/files/7", content=b"").status_code == 400
        assert client.post(f"{base}/{name}/start").status_code == 400  # not all files are there
        assert sorted(path.name for path in (tmp_path / "jobs" / name / "upload").iterdir()) == ["00001"]
        assert client.post(base, json={"files": 1, "kind": "dicom"}).status_code == 200
        assert client.post(base, json={"files": 1, "kind": "dicom"}).status_code == 507
        assert client.post(f"{base}/{name}/cancel").json()["state"] == "cancelled"
        assert not (tmp_path / "jobs" / name / "upload").exists()
        for other in ("../../etc", "0" * 16):
            assert client.get(f"{base}/{other}/download").status_code in (400, 404)


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


def test_idle_uploads_are_cancelled(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path / "jobs", Limits(jobs=2, idle_seconds=0.4), start=False)

    async def part() -> AsyncIterator[bytes]:
        yield b"x"

    first, second = jobs.create(2, "dicom"), jobs.create(2, "dicom")
    time.sleep(0.25)
    asyncio.run(jobs.receive(second.id, 0, part()))
    time.sleep(0.25)
    jobs.cancel_idle_uploads()
    assert [job.state for job in jobs.all()] == [FAILED, UPLOADING]
    assert "stopped" in jobs.get(first.id).message
    assert not (tmp_path / "jobs" / first.id / "upload").exists()
    jobs.queue.start()  # checks for idle uploads, too
    until(lambda: jobs.get(second.id).state == FAILED, 10)
    jobs.close()
