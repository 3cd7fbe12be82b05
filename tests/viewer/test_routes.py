"""What the application answers."""

import io
import threading
import time
import zipfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest

from acdnet.viewer.job import DONE
from acdnet.viewer.jobs import Jobs
from acdnet.viewer.result import open_result
from acdnet.viewer.view_model import Plane
from tests.reduction.make import run, series, volume
from tests.viewer.conftest import METAL
from tests.viewer.server import API, add_finished, client_of, ended, files, submit


def array(answer: Any, kind: str) -> Any:
    shape = [int(side) for side in answer.headers["x-shape"].split(",")]
    return np.frombuffer(answer.content, kind).reshape(shape)


def test_slices_are_sent_unchanged(reduced: Path) -> None:
    result, base = open_result(reduced), f"{API}/results/result"
    with client_of({"result": reduced}) as client:
        about = client.get(base).json()
        assert (about["kind"], about["no_stages"]) == ("reduction", "")
        for layer in ("before", "after", "difference"):
            assert np.array_equal(array(client.get(f"{base}/slices/1/{layer}"), "<i2"), result.image(1, layer))
        metal, expected_error = result.metal(1), result.expected_error_hu(1)
        assert metal is not None
        assert expected_error is not None
        assert np.array_equal(array(client.get(f"{base}/slices/1/metal"), "u1"), metal)
        assert client.get(f"{base}/slices/0/metal").status_code == 204
        assert np.array_equal(array(client.get(f"{base}/slices/1/expected_error_hu"), "<u2"), expected_error)
        for bad in ("slices/9/after", "slices/-1/after", "slices/1/nothing", "slices/0/stages/about"):
            answer = client.get(f"{base}/{bad}")
            assert answer.status_code == 400
            assert answer.json()["error"]
        assert client.get(f"{base}/slices/1/stages/about").json()["stages"] > 0
        assert array(client.get(f"{base}/slices/1/stages/artifacts/0/0"), "<i2").shape == (96, 96)


def test_images_come_with_orientation_and_pixel_size(reduced: Path, tmp_path: Path) -> None:
    scan = series(tmp_path / "scan", (True,), PhotometricInterpretation="MONOCHROME1", PixelSpacing=[2.25, 2.0])
    assert run("reduce", scan, tmp_path / "out").code == 0
    dark = open_result(tmp_path / "out")
    assert dark.plane(0) == Plane((2.25, 2.0), ("A", "L", "P", "R"), inverted=True)
    assert np.array_equal(dark.image(0, "before"), np.rint(volume((True,))[0]))  # HU do not depend on it
    with client_of({"plain": reduced, "dark": tmp_path / "out"}) as client:
        headers = client.get(f"{API}/results/plain/slices/1/after").headers
        assert (headers["x-edges"], headers["x-spacing"]) == ("A,L,P,R", "2,2")
        assert "x-inverted" not in headers
        for path, inverted in (
            *(("before", "1"), ("after", "1"), ("difference", None)),
            *(("stages/images/1/0", "1"), ("stages/artifacts/0/0", None)),
        ):
            headers = client.get(f"{API}/results/dark/slices/0/{path}").headers
            assert headers["x-spacing"] == "2.25,2"
            assert headers.get("x-inverted") == inverted


def test_a_scan_is_uploaded_reduced_shown_and_downloaded(reduced: Path, tmp_path: Path) -> None:
    scan, jobs = files(reduced.parent / "scan"), Jobs(tmp_path / "jobs")
    with closing(jobs), client_of(jobs=jobs) as client:
        name, broken = submit(client, scan), submit(client, [b"this is no image", scan[0][:300]])
        assert ended(client, name)["state"] == "done"
        assert client.get(f"{API}/results/{name}").json()["counts"]["reduced"] == sum(METAL)
        archive = zipfile.ZipFile(io.BytesIO(client.get(f"{API}/jobs/{name}/download").content))
        assert archive.testzip() is None
        for file in (f"reduced/{number:04d}.dcm" for number in range(1, len(METAL) + 1)):
            ours, theirs = (pydicom.dcmread(source) for source in (io.BytesIO(archive.read(file)), reduced / file))
            assert np.array_equal(ours.pixel_array, theirs.pixel_array)
        failed = ended(client, broken)
        assert failed["state"] == "failed"
        assert failed["message"]
        assert str(tmp_path) not in failed["message"]
        assert "Secret" not in client.get(f"{API}/jobs").text  # the patient's name
        assert client.delete(f"{API}/jobs/{name}").status_code == 200
        assert not (tmp_path / "jobs" / name).exists()
        assert client.get(f"{API}/results/{name}").status_code == 400


@pytest.mark.parametrize(
    "text",
    [
        *('{"files": 1e999, "kind": "dicom"}', '{"files": NaN, "kind": "dicom"}', '{"files": null}', "", "\xff", "3"),
        *("[" * 4000, '{"files": ' + "9" * 4000 + "}", '{"files": 1, "kind": "dicom"}' + " " * 5000),
    ],
)
def test_malformed_requests_are_refused(jobs: Jobs, text: str) -> None:
    base, name = f"{API}/jobs", jobs.create(1, "dicom").id
    with client_of(jobs=jobs) as client:
        for path in (base, f"{base}/{name}/choose"):
            answer = client.post(path, content=text.replace("files", "answer") if path != base else text)
            assert answer.status_code == 400
            assert answer.json()["error"]
    assert len(jobs.all()) == 1


def test_the_event_loop_waits_for_no_lock(jobs: Jobs) -> None:
    name = jobs.create(1, "dicom").id
    with client_of(jobs=jobs) as client:
        base = f"{API}/jobs"
        asks = [
            lambda: client.put(f"{base}/{name}/files/0", content=bytes(2**20)),
            lambda: client.post(base, json={"files": 1, "kind": "dicom"}),
            lambda: client.delete(f"{base}/{'0' * 16}"),
        ]
        threads = [threading.Thread(target=ask) for ask in asks]
        with jobs.lock:  # held as by a thread that waits for the disk
            for thread in threads:
                thread.start()
            time.sleep(0.3)
            answers: list[int] = []
            page = threading.Thread(target=lambda: answers.append(client.get(f"{API}/start").status_code))
            page.start()
            page.join(5)
            answered = list(answers)
        for thread in (*threads, page):
            thread.join(20)
    assert answered == [200]
    assert [job.received for job in jobs.all()] == [1, 0]


def test_errors_contain_no_path_of_the_server(jobs: Jobs, reduced_by_li: Path, tmp_path: Path) -> None:
    name = add_finished(jobs, reduced_by_li)
    place = jobs.folder / name / "result"
    with client_of(jobs=jobs) as client:
        (place / "reduced/0001.dcm").write_bytes(b"x")
        answer = client.get(f"{API}/results/{name}")
        assert answer.status_code == 400
        assert "0001.dcm" in answer.json()["error"]
        assert str(tmp_path) not in answer.json()["error"]
        jobs.jobs[name] = replace(jobs.get(name), state=DONE)
        (place / "report.json").write_text("{")
        assert str(tmp_path) not in client.get(f"{API}/results/{name}").text
