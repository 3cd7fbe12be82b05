"""F72: symbolic links in results and in the folder of uploads are not followed."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from acdnet.viewer.job import DONE, JOB, PROGRESS, UPLOAD
from acdnet.viewer.jobs import Jobs
from acdnet.viewer.worker import reduce_job
from acdnet.viewer.zipstream import zip_stream
from tests.viewer.server import API, add_finished, client_of
from tests.viewer.test_worker import HOW

SECRET = b"a file of somebody else"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_bytes(SECRET)
    return path


@pytest.fixture
def client(jobs: Jobs) -> Iterator[TestClient]:
    with client_of(jobs=jobs) as opened:
        yield opened


@pytest.mark.parametrize("name", ["extra.txt", "report.json", "reduced/0002.dcm", "maps/0002.npz", "deep/er/link"])
def test_f72_links_in_a_result(name: str, client: TestClient, jobs: Jobs, reduced_by_li: Path, secret: Path) -> None:
    job = add_finished(jobs, reduced_by_li)
    link = jobs.folder / job / "result" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(secret)
    for path in (f"results/{job}", f"results/{job}/slices/1/after", f"jobs/{job}/download"):
        answer = client.get(f"{API}/{path}")
        assert answer.status_code == 400
        assert "is a link, which is not followed" in answer.json()["error"]
        assert str(jobs.folder) not in answer.text


def test_f72_links_that_replace_what_was_checked(
    client: TestClient, jobs: Jobs, reduced_by_li: Path, secret: Path
) -> None:
    job = add_finished(jobs, reduced_by_li)
    assert client.get(f"{API}/results/{job}").status_code == 200
    for name, layer in (("reduced/0002.dcm", "after"), ("maps/0003.npz", "metal")):
        path = jobs.folder / job / "result" / name
        path.unlink()
        path.symlink_to(secret)
        answer = client.get(f"{API}/results/{job}/slices/{int(path.stem) - 1}/{layer}")
        assert (answer.status_code, "is a link" in answer.text) == (400, True)
    assert SECRET not in b"".join(zip_stream(jobs.folder / job / "result"))


@pytest.mark.parametrize("name", ["", "result"])
def test_f72_folders_that_are_links(name: str, client: TestClient, jobs: Jobs, reduced_by_li: Path) -> None:
    job = add_finished(jobs, reduced_by_li)
    place = jobs.folder / job / name
    shutil.move(place, jobs.folder / "elsewhere")
    place.symlink_to(jobs.folder / "elsewhere")
    for path in (f"results/{job}", f"jobs/{job}/download"):
        answer = client.get(f"{API}/{path}")
        assert (answer.status_code, "is a link" in answer.text) == (400, True)
    if name == "":
        jobs.close()
        with closing(Jobs(jobs.folder, start=False)) as again:
            assert again.all() == []


def test_f72_uploads_are_not_written_to_links(client: TestClient, jobs: Jobs, tmp_path: Path, secret: Path) -> None:
    first, second = jobs.create(2, "dicom"), jobs.create(1, "dicom")
    (jobs.folder / first.id / UPLOAD / ".00001.part").symlink_to(secret)
    (jobs.folder / first.id / UPLOAD / "00002").symlink_to(tmp_path / "new")
    (tmp_path / "other").mkdir()
    (jobs.folder / second.id / UPLOAD).rmdir()
    (jobs.folder / second.id / UPLOAD).symlink_to(tmp_path / "other")
    codes = [client.put(f"{API}/jobs/{first.id}/files/{n}", content=b"x").status_code for n in (0, 1)]
    assert codes == [400, 200]
    assert secret.read_bytes() == SECRET
    assert not (tmp_path / "new").exists()
    assert client.put(f"{API}/jobs/{second.id}/files/0", content=b"x").status_code == 400
    assert not [*(tmp_path / "other").iterdir()]


@pytest.mark.parametrize("kind", ["dicom", "nii"])
def test_f72_uploads_are_not_read_through_links(kind: str, tmp_path: Path, secret: Path) -> None:
    job = tmp_path / "job"
    (job / UPLOAD).mkdir(parents=True)
    (job / UPLOAD / ("00001" if kind == "dicom" else "00001.nii")).symlink_to(secret)
    assert reduce_job(job, HOW | {"kind": kind}) == 3
    assert "is a link" in (job / PROGRESS).read_text()


def test_f72_records_that_are_links(jobs: Jobs, reduced_by_li: Path) -> None:
    job = add_finished(jobs, reduced_by_li)
    jobs.close()
    record = jobs.folder / job / JOB
    record.rename(jobs.folder / "elsewhere")
    with closing(Jobs(jobs.folder, start=False)) as again:
        assert again.all() == []
    record.symlink_to(jobs.folder / "elsewhere")
    with closing(Jobs(jobs.folder, start=False)) as again:
        assert again.all() == []
    record.unlink()
    (jobs.folder / "elsewhere").rename(record)
    with closing(Jobs(jobs.folder, start=False)) as again:
        assert [found.state for found in again.all()] == [DONE]
