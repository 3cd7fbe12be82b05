"""F78: every answer carries the headers that restrict what a browser does with it."""

import shutil
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from acdnet.viewer.app import make_app
from acdnet.viewer.headers import HEADERS
from acdnet.viewer.jobs import Jobs
from tests.viewer.server import API, PORT, TOKEN


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", f"/{TOKEN}/", 200),
        ("GET", f"/{TOKEN}", 307),
        ("GET", f"/{TOKEN}/static/app.js", 200),
        ("GET", "/", 403),
        ("OPTIONS", "*", 403),
        ("GET", f"{API}/nothing", 404),
        ("HEAD", f"{API}/start", 405),
        ("TRACE", f"{API}/start", 405),
        ("POST", f"{API}/jobs", 400),
        ("GET", f"{API}/results/result/slices/99/after", 400),
        ("GET", f"{API}/results/result/slices/x/after", 422),
        ("GET", f"{API}/results/result/slices/0/metal", 204),
        ("GET", f"{API}/results/broken", 500),
        ("GET", f"{API}/jobs/broken/download", 500),
        ("PUT", f"{API}/jobs/broken/files/0", 500),
    ],
)
def test_f78_all_answers(method: str, path: str, code: int, reduced_by_li: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        jobs = Jobs(tmp_path / "jobs", start=False)

        def broken(id_: str) -> None:
            raise RuntimeError(f"{id_} of a patient")

        for name in ("get", "result"):
            patch.setattr(jobs, name, broken)
        app = make_app(TOKEN, {"result": reduced_by_li}, jobs, port=PORT)
        client = TestClient(app, f"http://127.0.0.1:{PORT}", raise_server_exceptions=False)
        answer = client.request(method, path, follow_redirects=False)
        jobs.close()
    assert answer.status_code == code
    assert "patient" not in answer.text
    for name, value in (HEADERS | {"Cache-Control": "no-store"}).items():
        assert answer.headers.get_list(name) == [value], name


def test_a_folder_that_is_gone(jobs: Jobs) -> None:
    client = TestClient(make_app(TOKEN, {}, jobs, port=PORT), f"http://127.0.0.1:{PORT}")
    new = {"files": 1, "kind": "dicom"}
    name = client.post(f"{API}/jobs", json=new).json()["id"]
    shutil.rmtree(jobs.folder)
    for answer in (
        client.post(f"{API}/jobs", json=new),
        client.put(f"{API}/jobs/{name}/files/0", content=b"x"),
    ):
        assert answer.status_code == 507
        assert "No such file" in answer.json()["error"]
        assert str(jobs.folder) not in answer.text
    assert client.delete(f"{API}/jobs/{name}").status_code == 200
    assert client.get(f"{API}/jobs").json() == []
    jobs.folder.mkdir()
    assert client.post(f"{API}/jobs", json=new).status_code == 200


def test_what_never_changes_may_be_kept(jobs: Jobs) -> None:
    client = TestClient(make_app(TOKEN, {}, jobs, port=PORT), f"http://127.0.0.1:{PORT}")
    assert "max-age" in client.get(f"/{TOKEN}/static/cornerstone.js").headers["cache-control"]
