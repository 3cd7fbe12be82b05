"""Jobs on disk: full disks, stopped servers, foreign or damaged files, and deletion."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acdnet.errors import InputRefused, ResourceError
from acdnet.viewer.job import ENDED, FAILED
from acdnet.viewer.jobs import Jobs
from tests.viewer.server import add_finished, until


def test_an_interrupted_upload_is_reported(tmp_path: Path) -> None:
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


def test_a_full_disk_stops_neither_the_queue_nor_deletion(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [jobs.create(1, "dicom").id for _ in range(3)]
    for name in names:
        jobs.jobs[name] = replace(jobs.jobs[name], received=1)
        jobs.submit(name)

    def full(_: object) -> None:
        raise ResourceError("no space left")

    monkeypatch.setattr("acdnet.viewer.jobs.write_atomically", full)
    jobs.delete(names[0])
    assert not (jobs.folder / names[0]).exists()
    with pytest.raises(ResourceError):
        jobs.create(1, "dicom")
    jobs.queue.start()
    until(lambda: jobs.get(names[2]).state in ENDED)
    assert [job.state for job in jobs.all()] == ["failed", "failed"]  # they have no file
    assert jobs.queue.is_alive()


def test_a_queued_job_can_be_deleted_at_any_time(jobs: Jobs) -> None:
    job = replace(jobs.create(1, "dicom"), state="queued")
    jobs.jobs[job.id] = job
    jobs.delete(job.id)
    jobs.queue._run_job(job)  # it was chosen just before it was deleted
    assert jobs.all() == []


def test_partly_written_files_are_removed(tmp_path: Path) -> None:
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


def test_a_deletion_that_fails_half_way_can_be_repeated(
    jobs: Jobs, reduced_by_li: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, name, last = (add_finished(jobs, reduced_by_li) for _ in range(3))
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


def test_the_lock_is_free_while_files_are_deleted(
    jobs: Jobs, reduced_by_li: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, uploading = add_finished(jobs, reduced_by_li), jobs.create(1, "dicom").id
    free: list[bool] = []

    def watched(path: Path, **kwargs: Any) -> None:
        with ThreadPoolExecutor(1) as pool:  # the lock lets its own thread in
            free.append(pool.submit(jobs.lock.acquire, timeout=2).result())
            if free[-1]:
                pool.submit(jobs.lock.release).result()
        remove(path, **kwargs)

    remove = shutil.rmtree
    monkeypatch.setattr(shutil, "rmtree", watched)
    jobs.delete(done)
    jobs.delete(uploading)
    assert free
    assert all(free)


NAME = "0123456789abcdef"
JOB: dict[str, Any] = {"id": NAME, "number": 1, "state": "queued", "created": 1.0, "files": 1}


def write_job(folder: Path, text: str) -> None:
    (folder / NAME).mkdir(parents=True, exist_ok=True)
    (folder / NAME / "job.json").write_text(text)


@pytest.mark.parametrize(
    "values",
    [
        *({"number": bad} for bad in (None, "1", 1.5, True, -1)),
        *({"id": bad} for bad in (None, "../victim", "f" * 16)),
        *({"state": bad} for bad in (None, "x", ["queued"])),
        *({"choices": bad} for bad in ("x", [1], None)),
        *({"created": None}, {"kind": "../x"}, {"any_plane": 1}, {"needs": "money"}, {"bytes": None}, {"series": -1}),
    ],
)
def test_foreign_jobs_and_folders_are_left_alone(values: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    write_job(folder, json.dumps(JOB | values))
    (folder / "holiday").mkdir()
    with closing(Jobs(folder, start=False)) as jobs:
        assert jobs.all() == []
        assert jobs.create(1, "dicom").number == 1
    assert (folder / "holiday").is_dir()
    assert json.loads((folder / NAME / "job.json").read_text()) == JOB | values
    assert [path.name for path in tmp_path.iterdir()] == ["jobs"]


def test_damaged_records_do_not_stop_the_server(tmp_path: Path) -> None:
    texts = ("", "null", "[]", "[" * 100_000, '{"number": 1e999}', "\x00", json.dumps(JOB).replace("1.0", "NaN"))
    for text in texts:
        write_job(tmp_path, text)
        with closing(Jobs(tmp_path, start=False)) as jobs:
            assert jobs.all() == []
    write_job(tmp_path, json.dumps(JOB))  # what is missing has a default
    (tmp_path / ".numbers").write_text("-5")
    (tmp_path / NAME / "progress.json").write_text('{"done": NaN}')
    with closing(Jobs(tmp_path, start=False)) as jobs:
        assert [(job.id, job.number) for job in jobs.all()] == [(NAME, 1)]
        assert jobs.progress(NAME) == {}
        assert jobs.create(1, "dicom").number == 2
