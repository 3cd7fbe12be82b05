"""What was deleted stays deleted, whoever looks at it meanwhile, and nobody else waits."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from acdnet.errors import InputRefused, ResourceError
from acdnet.viewer import sessions as sessions_module
from acdnet.viewer.app import make_app
from acdnet.viewer.job import DONE, FAILED, UPLOADING, Limits
from acdnet.viewer.jobs import Jobs
from acdnet.viewer.result import open_result
from acdnet.viewer.sessions import Sessions
from tests.reduction.make import run, series
from tests.viewer.server import add_finished

TOKEN, PORT = "a-token-that-nobody-knows", 8123


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deleted")
    assert run("reduce", series(folder / "scan", (True,)), folder / "out", "--method", "li").code == 0
    return folder / "out"


@pytest.fixture
def jobs(tmp_path: Path) -> Any:
    opened = Jobs(tmp_path / "jobs", start=False)
    yield opened
    opened.close()


def test_a_result_that_is_asked_for_while_it_is_deleted(
    jobs: Jobs, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = add_finished(jobs, made)
    shown = Sessions({}, jobs)
    monkeypatch.setattr("acdnet.viewer.app.Sessions", lambda *_: shown)
    with TestClient(make_app(TOKEN, {}, jobs, port=PORT), base_url=f"http://127.0.0.1:{PORT}") as client:
        assert client.get(f"/{TOKEN}/api/results/{name}").status_code == 200
        remove = jobs.delete

        def delete(id_: str) -> None:
            assert client.get(f"/{TOKEN}/api/results/{name}").status_code == 200  # just before
            remove(id_)

        monkeypatch.setattr(jobs, "delete", delete)
        assert client.delete(f"/{TOKEN}/api/jobs/{name}").status_code == 200
        assert shown.opened == {}
        assert client.get(f"/{TOKEN}/api/results/{name}").status_code == 400


def test_a_result_that_is_deleted_while_it_is_opened(jobs: Jobs, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = add_finished(jobs, made)
    shown = Sessions({}, jobs)

    def opened(folder: Path) -> Any:
        result = open_result(folder)
        jobs.delete(name)
        shown.close(name)
        return result

    monkeypatch.setattr(sessions_module, "open_result", opened)
    with pytest.raises(InputRefused, match="no such job"):
        shown.open(name)
    assert shown.opened == {}


def test_nobody_waits_for_a_result_that_opens_slowly(jobs: Jobs, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, quick = add_finished(jobs, made), add_finished(jobs, made)
    begun, go, count = threading.Event(), threading.Event(), 0

    def opened(folder: Path) -> Any:
        nonlocal count
        if slow in str(folder):
            count += 1
            begun.set()
            assert go.wait(20)
        return open_result(folder)

    monkeypatch.setattr(sessions_module, "open_result", opened)
    with TestClient(make_app(TOKEN, {}, jobs, port=PORT), base_url=f"http://127.0.0.1:{PORT}") as client:
        waiting = [threading.Thread(target=client.get, args=[f"/{TOKEN}/api/results/{slow}"]) for _ in range(3)]
        for one in waiting:
            one.start()
        assert begun.wait(20)
        start = time.monotonic()
        assert client.get(f"/{TOKEN}/api/results/{quick}").status_code == 200
        assert client.delete(f"/{TOKEN}/api/jobs/{quick}").status_code == 200
        assert client.get(f"/{TOKEN}/api/start").status_code == 200
        assert time.monotonic() - start < 10
        go.set()
        for one in waiting:
            one.join()
    assert count == 1  # those who want the same wait for the first


def test_the_event_loop_waits_for_no_lock(jobs: Jobs) -> None:
    name = jobs.create(1, "dicom").id
    with TestClient(make_app(TOKEN, {}, jobs, port=PORT), base_url=f"http://127.0.0.1:{PORT}") as client:
        base = f"/{TOKEN}/api/jobs"
        asks = [
            lambda: client.put(f"{base}/{name}/files/0", content=bytes(2**20)),
            lambda: client.post(base, json={"files": 1, "kind": "dicom"}),
            lambda: client.delete(f"{base}/{'0' * 16}"),
        ]
        threads = [threading.Thread(target=ask) for ask in asks]
        with jobs.lock:  # as somebody who waits for the disk would hold it
            for thread in threads:
                thread.start()
            time.sleep(0.3)
            answers: list[int] = []
            page = threading.Thread(target=lambda: answers.append(client.get(f"/{TOKEN}/api/start").status_code))
            page.start()
            page.join(5)
            answered = list(answers)
        for thread in (*threads, page):
            thread.join(20)
    assert answered == [200]
    assert [job.received for job in jobs.all()] == [1, 0]


def test_a_deletion_that_fails_half_way_can_be_repeated(
    jobs: Jobs, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, name, last = (add_finished(jobs, made) for _ in range(3))
    with monkeypatch.context() as broken:
        broken.setattr(shutil, "rmtree", lambda *_, **__: None)
        for _ in range(2):
            with pytest.raises(ResourceError, match="try again"):
                jobs.delete(name)
        assert [job.id for job in jobs.all()] == [first, name, last]  # the page can try again
        assert jobs.get(name).state == FAILED
        with pytest.raises(InputRefused):
            jobs.result(name)
    jobs.delete(name)
    assert [job.id for job in jobs.all()] == [first, last]
    assert [path.name for path in jobs.folder.iterdir() if name in path.name] == []
    with pytest.raises(InputRefused, match="no such job"):
        jobs.delete(name)


def test_nobody_waits_while_files_are_thrown_away(jobs: Jobs, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done, uploading = add_finished(jobs, made), jobs.create(1, "dicom").id
    free: list[bool] = []

    def watched(path: Path, **kwargs: Any) -> None:
        taken = threading.Thread(target=take)
        taken.start()
        taken.join()
        remove(path, **kwargs)

    def take() -> None:
        free.append(jobs.lock.acquire(timeout=2))
        if free[-1]:
            jobs.lock.release()

    remove = shutil.rmtree
    monkeypatch.setattr(shutil, "rmtree", watched)
    jobs.delete(done)
    jobs.delete(uploading)
    assert free
    assert all(free)


def test_an_upload_that_nobody_goes_on_with_is_given_up(tmp_path: Path) -> None:
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
    jobs.queue.start()  # which looks after them, too
    end = time.monotonic() + 10
    while jobs.get(second.id).state == UPLOADING and time.monotonic() < end:
        time.sleep(0.1)
    assert jobs.get(second.id).state == FAILED
    jobs.close()


def test_errors_do_not_tell_where_things_are_kept(jobs: Jobs, made: Path, tmp_path: Path) -> None:
    name = add_finished(jobs, made)
    place = jobs.folder / name / "result"
    with TestClient(make_app(TOKEN, {}, jobs, port=PORT), base_url=f"http://127.0.0.1:{PORT}") as client:
        for broken in (place / "report.json", place / "reduced/0001.dcm"):
            broken.write_bytes(b"x" if "report" not in broken.name else broken.read_bytes())
        answer = client.get(f"/{TOKEN}/api/results/{name}")
        assert answer.status_code == 400
        assert "0001.dcm" in answer.json()["error"]
        assert str(tmp_path) not in answer.json()["error"]
        jobs.jobs[name] = replace(jobs.get(name), state=DONE)
        (place / "report.json").write_text("{")
        assert str(tmp_path) not in client.get(f"/{TOKEN}/api/results/{name}").text
