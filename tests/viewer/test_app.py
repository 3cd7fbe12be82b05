from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pydicom
import pytest
from fastapi.testclient import TestClient

from acdnet.viewer.app import NOTICE, make_app
from acdnet.viewer.job import Limits
from acdnet.viewer.jobs import Jobs
from acdnet.viewer.result import open_result
from acdnet.viewer.stages import Stages, StageView
from tests.reduction.make import run, series

TOKEN = "a-token-that-nobody-knows"
PORT = 8123
HOME = {"host": f"127.0.0.1:{PORT}"}


@pytest.fixture(scope="module")
def reduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("app")
    assert run("reduce", series(folder / "scan"), folder / "out").code == 0
    return folder / "out"


@pytest.fixture(scope="module")
def page(reduced: Path) -> Iterator[TestClient]:
    app = make_app(TOKEN, {"result": reduced}, port=PORT)
    with TestClient(app, base_url=f"http://127.0.0.1:{PORT}") as client:
        yield client


def array(answer: Any, kind: str) -> Any:
    shape = [int(side) for side in answer.headers["x-shape"].split(",")]
    return np.frombuffer(answer.content, kind).reshape(shape)


def test_f54_no_token_no_page_and_no_other_host(page: TestClient) -> None:
    for path in ("/", "/wrong/", f"/{TOKEN[:-1]}/", "/api/start", f"/x{TOKEN}/api/start"):
        assert page.get(path).status_code == 403
    assert page.get(f"/{TOKEN}/").status_code == 200
    assert page.get(f"/{TOKEN}/", headers={"host": "evil.example"}).status_code == 403
    assert page.get(f"/{TOKEN}/", headers={"host": f"evil.example:{PORT}"}).status_code == 403
    assert page.get(f"/{TOKEN}/", headers=HOME | {"origin": "http://evil.example"}).status_code == 403


def test_f54_the_notice_is_on_the_page(page: TestClient) -> None:
    assert NOTICE in page.get(f"/{TOKEN}/").text
    assert page.get(f"/{TOKEN}/api/start").json()["notice"] == NOTICE
    assert "frame-ancestors 'none'" in page.get(f"/{TOKEN}/").headers["content-security-policy"]


def test_only_our_files_are_handed_out(page: TestClient) -> None:
    assert page.get(f"/{TOKEN}/static/app.js").status_code == 200
    for name in ("nothing.js", "..%2fapp.py", "%2e%2e%2fapp.py"):
        assert page.get(f"/{TOKEN}/static/{name}").status_code in (400, 404)
    assert "://" not in page.get(f"/{TOKEN}/").text.replace("http://www.w3.org", "")  # nothing is fetched elsewhere


def test_slices_come_as_they_are(page: TestClient, reduced: Path) -> None:
    result, base = open_result(reduced), f"/{TOKEN}/api/results/result"
    about = page.get(base).json()
    assert about["kind"] == "reduction"
    assert about["no_stages"] == ""
    for layer in ("before", "after", "difference"):
        assert np.array_equal(array(page.get(f"{base}/slices/1/{layer}"), "<i2"), result.image(1, layer))
    metal, doubt = result.metal(1), result.expected_error_hu(1)
    assert metal is not None
    assert doubt is not None
    assert np.array_equal(array(page.get(f"{base}/slices/1/metal"), "u1"), metal)
    assert page.get(f"{base}/slices/0/metal").status_code == 204
    assert np.array_equal(array(page.get(f"{base}/slices/1/expected_error_hu"), "<u2"), doubt)
    for bad in ("slices/9/after", "slices/-1/after", "slices/1/nothing", "slices/0/stages/about"):
        answer = page.get(f"{base}/{bad}")
        assert answer.status_code == 400
        assert answer.json()["error"]
    inside = page.get(f"{base}/slices/1/stages/about").json()
    assert inside["stages"] > 0
    assert array(page.get(f"{base}/slices/1/stages/artifacts/0/0"), "<i2").shape == (96, 96)


def test_pictures_say_how_they_lie(reduced: Path, tmp_path: Path) -> None:
    scan = series(tmp_path / "scan", (True,), PhotometricInterpretation="MONOCHROME1")
    assert run("reduce", scan, tmp_path / "out").code == 0
    app = make_app(TOKEN, {"plain": reduced, "dark": tmp_path / "out"}, port=PORT)
    with TestClient(app, base_url=f"http://127.0.0.1:{PORT}") as client:
        base = f"/{TOKEN}/api/results"
        told = client.get(f"{base}/plain/slices/1/after").headers
        assert (told["x-edges"], told["x-spacing"]) == ("A,L,P,R", "2,2")
        assert "x-inverted" not in told
        assert client.get(f"{base}/dark/slices/0/before").headers["x-inverted"] == "1"
        assert "x-inverted" not in client.get(f"{base}/dark/slices/0/difference").headers
        assert client.get(f"{base}/dark/slices/0/stages/images/1/0").headers["x-inverted"] == "1"
        assert "x-inverted" not in client.get(f"{base}/dark/slices/0/stages/artifacts/0/0").headers


def test_the_network_works_on_one_slice_at_a_time(reduced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go, running, most = Event(), Event(), 0, 0
    computed: list[int] = []

    def slow(_: StageView, number: int) -> Stages:
        nonlocal running, most
        running += 1
        most = max(most, running)
        computed.append(number)
        begun.set()
        assert go.wait(30)
        running -= 1
        small = np.zeros((1, 3, 3), np.float32)
        one = [small]
        return Stages(one, one, one, one, one, one, small)

    monkeypatch.setattr(StageView, "_compute", slow)
    app = make_app(TOKEN, {"one": reduced, "two": reduced}, port=PORT)
    with TestClient(app, base_url=f"http://127.0.0.1:{PORT}") as client, ThreadPoolExecutor(16) as pool:
        paths = [f"/{TOKEN}/api/results/{name}/slices/{n}/stages/about" for name in ("one", "two") for n in (1, 2)]
        first = pool.submit(client.get, paths[0])
        assert begun.wait(30)
        others = list(pool.map(client.get, paths * 3))
        assert {answer.status_code for answer in others} == {503}
        assert {answer.headers["retry-after"] for answer in others} == {"1"}
        assert client.get(f"/{TOKEN}/api/results/two/slices/1/after").status_code == 200  # pictures do not wait
        go.set()
        assert first.result().status_code == 200
        for path in paths * 2:
            assert client.get(path).status_code == 200
    assert most == 1
    assert computed == [1, 2] * 4  # two are kept, whichever result they are of


def wait(client: TestClient, name: str, state: str, seconds: float = 90.0) -> dict[str, Any]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found: dict[str, Any] = next(job for job in client.get(f"/{TOKEN}/api/jobs").json() if job["id"] == name)
        if found["state"] == state:
            return found
        assert found["state"] not in ("failed", "done", "cancelled"), found
        time.sleep(0.1)
    raise AssertionError(f"not {state} after {seconds} s")


def upload(client: TestClient, files: list[bytes], start: bool = True) -> str:
    base = f"/{TOKEN}/api/jobs"
    name: str = client.post(base, json={"files": len(files), "kind": "dicom"}).json()["id"]
    for n, data in enumerate(files):
        assert client.put(f"{base}/{name}/files/{n}", content=data).status_code == 200
    if start:
        assert client.post(f"{base}/{name}/start").status_code == 200
    return name


def test_a_scan_is_dropped_reduced_shown_and_taken_home(reduced: Path, tmp_path: Path) -> None:
    files = [path.read_bytes() for path in sorted((reduced.parent / "scan").iterdir())]
    jobs = Jobs(tmp_path / "jobs")
    try:
        with TestClient(make_app(TOKEN, {}, jobs, port=PORT), base_url=f"http://127.0.0.1:{PORT}") as client:
            name = upload(client, files)
            broken = upload(client, [b"this is no image", files[0][:300]])
            wait(client, name, "done")
            assert client.get(f"/{TOKEN}/api/results/{name}").json()["counts"]["reduced"] == 2
            archive = zipfile.ZipFile(io.BytesIO(client.get(f"/{TOKEN}/api/jobs/{name}/download").content))
            assert archive.testzip() is None
            for number in (1, 2, 3):
                ours = pydicom.dcmread(io.BytesIO(archive.read(f"reduced/{number:04d}.dcm")))
                theirs = pydicom.dcmread(reduced / f"reduced/{number:04d}.dcm")
                assert np.array_equal(ours.pixel_array, theirs.pixel_array)
            failed = wait(client, broken, "failed")
            assert failed["message"]
            assert str(tmp_path) not in failed["message"]
            assert "Secret" not in client.get(f"/{TOKEN}/api/jobs").text  # the patient's name
            assert client.delete(f"/{TOKEN}/api/jobs/{name}").status_code == 200
            assert not (tmp_path / "jobs" / name).exists()
            assert client.get(f"/{TOKEN}/api/results/{name}").status_code == 400
    finally:
        jobs.close()


def test_uploads_keep_to_their_limits(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path / "jobs", Limits(file_bytes=1000, job_bytes=1500, files=3, jobs=2), start=False)
    with TestClient(make_app(TOKEN, {}, jobs, port=PORT), base_url=f"http://127.0.0.1:{PORT}") as client:
        base = f"/{TOKEN}/api/jobs"
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
