"""Jobs that are reduced again with other decisions: the old result stays until the new one is complete."""

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from acdnet.errors import InputRefused, ResourceError
from acdnet.viewer.job import DONE, ENDED, JOB, QUEUED, RUNNING, UPLOAD, Job, clean_up
from acdnet.viewer.jobs import Jobs
from acdnet.viewer.rerun import reduce_again
from tests.reduction.make import change_report, report
from tests.viewer.objects import WORKER, add, write_objects
from tests.viewer.server import API, client_of, until


@pytest.fixture
def marked(reduced_by_li: Path, tmp_path: Path) -> Path:
    shutil.copytree(reduced_by_li, tmp_path / "out")
    return write_objects(tmp_path / "out")


@pytest.fixture
def done(jobs: Jobs, marked: Path) -> str:
    return add(jobs, marked)


@pytest.fixture
def client(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """Start the queue with the light worker."""
    monkeypatch.setattr("acdnet.viewer.queue.WORKER", (sys.executable, "-S", "-c", WORKER))
    with client_of(jobs=jobs) as opened:
        yield opened


def ask(client: TestClient, name: str, keep: Any, drop: Any) -> Any:
    return client.post(f"{API}/jobs/{name}/again", json={"keep": keep, "drop": drop})


def run_all(jobs: Jobs) -> None:
    if not jobs.queue.is_alive():
        jobs.queue.start()
    until(lambda: all(job.state in ENDED for job in jobs.all()), 30)


def decisions(folder: Path) -> list[str]:
    return [one["decision"] for one in report(folder)["objects"]]


def inside(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"progress.json"}


def test_the_new_result_replaces_the_old(jobs: Jobs, done: str, client: TestClient) -> None:
    place = jobs.folder / done
    assert client.get(f"{API}/results/{done}").status_code == 200
    assert ask(client, done, [3, 2], [1, 2]).status_code == 400  # kept and dropped
    queued = ask(client, done, [3, 2, 3], []).json()
    assert (queued["state"], queued["again"], queued["keep"], queued["drop"]) == (QUEUED, True, [2, 3], [])
    assert ask(client, done, [2, 3], []).status_code == 200  # twice is once
    assert ask(client, done, [2], []).status_code == 400
    assert client.get(f"{API}/results/{done}").json()["objects"][1]["decision"] == "doubtful"  # until then
    run_all(jobs)
    job = jobs.get(done)
    assert job == replace(job, state=DONE, runs=1, again=False, keep=(), drop=(), objects=3, message="look here")
    assert inside(place) == {JOB, UPLOAD, "result-1"}
    assert decisions(jobs.result(done)) == ["dropped", "kept", "kept"]
    assert client.get(f"{API}/results/{done}-1").json()["objects"][1]["decision"] == "kept"
    for old in (done, f"{done}-2", f"{done}-x"):  # a page that shows the old one is not given slices of the new one
        answer = client.get(f"{API}/results/{old}/slices/0/after")
        assert answer.status_code == 400
        assert "open it again" in answer.json()["error"]
    assert client.get(f"{API}/jobs/{done}/download").content.startswith(b"PK")


def test_a_failed_reduction_keeps_the_old_result(jobs: Jobs, done: str, client: TestClient) -> None:
    place = jobs.folder / done
    assert ask(client, done, [], [1]).status_code == 200
    run_all(jobs)
    job = jobs.get(done)
    assert (job.state, job.runs, job.again, job.drop) == (DONE, 0, False, ())
    assert (job.message, job.needs) == ("not reduced again: no room", "")
    assert inside(place) == {JOB, UPLOAD, "result"}
    assert decisions(jobs.result(done)) == ["metal", "doubtful", "dropped"]
    assert ask(client, done, [2], []).status_code == 200  # and can be repeated
    run_all(jobs)
    assert (jobs.get(done).runs, jobs.get(done).message) == (1, "look here")


def test_a_worker_that_cannot_start_keeps_the_old_result(
    jobs: Jobs, done: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acdnet.viewer.queue.WORKER", (str(jobs.folder / "missing"),))
    reduce_again(jobs, done, (2,), ())
    run_all(jobs)
    assert (jobs.get(done).state, jobs.get(done).again) == (DONE, False)
    assert "could not be started" in jobs.get(done).message
    assert decisions(jobs.result(done)) == ["metal", "doubtful", "dropped"]


def test_a_server_that_is_killed_meanwhile(tmp_path: Path, marked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acdnet.viewer.queue.WORKER", (sys.executable, "-S", "-c", WORKER))
    folder = tmp_path / "jobs"
    with closing(Jobs(folder, start=False)) as jobs:
        running, finished = add(jobs, marked), add(jobs, marked)
        for name in (running, finished):
            jobs.change(reduce_again(jobs, name, (2,), ()), state=RUNNING)
        (folder / running / ".result-1.partial").mkdir()
        shutil.copytree(marked, folder / finished / "result-1")  # complete, but not recorded
        change_report(folder / finished / "result-1", objects=[])
    with closing(Jobs(folder, start=False)) as jobs:
        assert decisions(jobs.result(running)) == decisions(jobs.result(finished)) == ["metal", "doubtful", "dropped"]
        run_all(jobs)
        assert decisions(jobs.result(running)) == ["dropped", "kept", "dropped"]
        assert decisions(jobs.result(finished)) == []
        assert inside(folder / running) == {JOB, UPLOAD, "result-1"}
        assert inside(folder / finished) == {JOB, "result-1"}  # without objects it cannot be repeated
    clutter = folder / running
    (clutter / "result").mkdir()
    (clutter / ".result-2.partial").mkdir()
    with closing(Jobs(folder, start=False)) as jobs:
        assert inside(clutter) == {JOB, UPLOAD, "result-1"}
        assert jobs.result(running).name == "result-1"


def test_a_cancelled_repetition_keeps_the_old_result(jobs: Jobs, done: str) -> None:
    reduce_again(jobs, done, (2,), ())
    (jobs.folder / done / ".result-1.partial").mkdir()
    job = jobs.cancel(done)
    assert (job.state, job.again, job.message) == (DONE, False, "not reduced again: cancelled")
    assert inside(jobs.folder / done) == {JOB, UPLOAD, "result"}
    jobs.queue.running = done  # its worker is still ending
    with pytest.raises(InputRefused, match="running"):
        reduce_again(jobs, done, (2,), ())
    jobs.queue.running = ""
    assert reduce_again(jobs, done, (2,), ()).state == QUEUED


def test_everything_is_deleted(jobs: Jobs, done: str, client: TestClient) -> None:
    ask(client, done, [2], [])
    run_all(jobs)
    assert client.get(f"{API}/results/{done}-1").status_code == 200
    ask(client, done, [3], [])
    jobs.delete(done)
    assert [path.name for path in jobs.folder.iterdir() if done in path.name] == []
    assert jobs.all() == []
    assert client.get(f"{API}/results/{done}-1").status_code == 400


BAD: list[Any] = [None, 3, "3", {}, [None], [0], [-1], [4], [2.0], ["2"], [True], [[2]], [10**30]]
OTHERS: list[dict[str, Any]] = [{}, {"keep": [1], "drop": [1]}, {"keep": [1]}, {"keep": [1] * 4000, "drop": []}]


@pytest.mark.parametrize(
    "body", [*OTHERS, *({"keep": bad, "drop": []} for bad in BAD), *({"keep": [], "drop": bad} for bad in BAD)]
)
def test_impossible_decisions_are_refused(body: Any, jobs: Jobs, done: str, client: TestClient) -> None:
    before = jobs.get(done)
    answer = client.post(f"{API}/jobs/{done}/again", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert jobs.get(done) == before


def test_jobs_that_cannot_be_repeated(jobs: Jobs, marked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, other, lost, failed, linked = (
        add(jobs, marked, **how) for how in ({"objects": 0}, {}, {}, {"state": "failed"}, {})
    )
    change_report(jobs.result(other), version="0.0.1")
    shutil.rmtree(jobs.folder / lost / UPLOAD)
    shutil.rmtree(jobs.folder / linked / UPLOAD)
    (jobs.folder / linked / UPLOAD).symlink_to(marked)
    for name, reason in (
        (old, "not kept"),
        (other, "another version"),
        (lost, "not kept"),
        (failed, "is failed"),
        (linked, "link"),
    ):
        with pytest.raises(InputRefused, match=reason):
            reduce_again(jobs, name, (2,), ())
    with pytest.raises(InputRefused, match="no such job"):
        reduce_again(jobs, "0" * 16, (2,), ())
    name = add(jobs, marked)
    (jobs.folder / name / "result-1").mkdir()
    with monkeypatch.context() as broken:
        broken.setattr(shutil, "rmtree", lambda *_, **__: None)
        with pytest.raises(InputRefused, match="could not be deleted"):  # it would count as the new result
            reduce_again(jobs, name, (2,), ())
    monkeypatch.setattr(jobs, "limits", replace(jobs.limits, reserve_bytes=2**62))
    with pytest.raises(ResourceError, match="nearly full"):
        reduce_again(jobs, name, (2,), ())
    assert {job.state for job in jobs.all()} == {DONE, "failed"}


def test_only_jobs_with_objects_keep_their_upload(tmp_path: Path) -> None:
    for objects, kept in ((0, {"result"}), (1, {"result", UPLOAD})):
        place = tmp_path / str(objects)
        for name in ("result", UPLOAD, "result-1", ".result.partial", ".result-1.partial"):
            (place / name).mkdir(parents=True)
        clean_up(place, Job("x", 1, DONE, 1.0, 1, objects=objects))
        assert inside(place) == kept


IMPOSSIBLE: list[Any] = ["x", [""], -1, None, [-1]]


def test_old_records_are_read(jobs: Jobs, done: str) -> None:
    path = jobs.folder / done / JOB
    values = json.loads(path.read_text())
    new = {name: values.pop(name) for name in ("objects", "runs", "again", "keep", "drop")}
    jobs.close()
    cases: list[tuple[dict[str, Any], int]] = [({}, 1), (new, 1)]
    for name in new:
        cases += [({name: bad}, 0) for bad in IMPOSSIBLE]
    for more, count in cases:
        path.write_text(json.dumps(values | more))
        with closing(Jobs(jobs.folder, start=False)) as opened:
            assert len(opened.all()) == count, more
            for job in opened.all():
                assert (job.runs, job.again, job.keep, job.drop) == (0, False, (), ())
