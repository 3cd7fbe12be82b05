"""An upload that `acdnet reduce` would want an option for: the page asks, and it runs with the files that are there."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from acdnet.viewer.app import make_app
from acdnet.viewer.jobs import Jobs
from tests.reduction.make import reduce, series

TOKEN, PORT = "a-token-that-nobody-knows", 8123
BASE = f"/{TOKEN}/api/jobs"
CORONAL = {"ImageOrientationPatient": [1, 0, 0, 0, 0, -1]}
OTHER = {"SeriesInstanceUID": "1.2.3.4", "SeriesNumber": 7, "SeriesDescription": "Secret Person"}
LOSSY = {"LossyImageCompression": "01", "LossyImageCompressionRatio": "9", "LossyImageCompressionMethod": "ISO_15444_1"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    jobs = Jobs(tmp_path / "jobs")
    with TestClient(make_app(TOKEN, {}, jobs, port=PORT), base_url=f"http://127.0.0.1:{PORT}") as opened:
        yield opened
    jobs.close()


def send(client: TestClient, *folders: Path) -> str:
    files = [file.read_bytes() for folder in folders for file in sorted(folder.iterdir())]
    name: str = client.post(BASE, json={"files": len(files), "kind": "dicom"}).json()["id"]
    for n, data in enumerate(files):
        assert client.put(f"{BASE}/{name}/files/{n}", content=data).status_code == 200
    assert client.post(f"{BASE}/{name}/start").status_code == 200
    return name


def ended(client: TestClient, name: str) -> dict[str, Any]:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        job: dict[str, Any] = next(one for one in client.get(BASE).json() if one["id"] == name)
        if job["state"] in ("done", "failed", "cancelled"):
            return job
        time.sleep(0.1)
    raise AssertionError("it does not end")


def test_one_of_several_series_is_chosen(client: TestClient, tmp_path: Path) -> None:
    first = series(tmp_path / "a", (True, False))
    second = series(tmp_path / "b", (False, True, True), **OTHER, **LOSSY)
    name = send(client, first, _with_own_uids(second))
    failed = ended(client, name)
    assert (failed["state"], failed["needs"]) == ("failed", "series")
    assert failed["message"] == "the scan: contains 2 series"
    assert sorted(title.split(" of ")[0] for title in failed["choices"]) == ["2 slices", "3 slices"]
    assert "Secret" not in json.dumps(failed)
    for bad in (0, 3, -1, "x", None):
        assert client.post(f"{BASE}/{name}/choose", json={"answer": bad}).status_code == 400
    wanted = next(n for n, title in enumerate(failed["choices"], 1) if title.startswith("3 slices"))
    assert client.post(f"{BASE}/{name}/choose", json={"answer": wanted}).json()["series"] == wanted
    assert client.post(f"{BASE}/{name}/choose", json={"answer": wanted}).status_code == 200  # twice is once
    assert ended(client, name)["needs"] == "lossy"  # one question after the other
    assert client.post(f"{BASE}/{name}/choose", json={"answer": 1}).json()["series"] == wanted
    done = ended(client, name)
    assert (done["state"], done["needs"], done["choices"]) == ("done", "", [])
    assert len(client.get(f"/{TOKEN}/api/results/{name}").json()["slices"]) == 3
    assert client.post(f"{BASE}/{name}/choose", json={"answer": 1}).status_code == 400
    assert not (tmp_path / "jobs" / name / "upload").exists()


def test_after_a_choice_that_does_not_do_there_is_another(client: TestClient, tmp_path: Path) -> None:
    ours = {"DerivationDescription": "Metal artifact reduction by LI, acdnet"}
    first = series(tmp_path / "a", (True, False))
    name = send(client, first, _with_own_uids(series(tmp_path / "b", (True, True, True), **OTHER, **ours)))
    offered = ended(client, name)["choices"]
    wrong, right = sorted((1, 2), key=lambda n: "made by acdnet" not in offered[n - 1])
    client.post(f"{BASE}/{name}/choose", json={"answer": wrong})
    failed = ended(client, name)
    assert "use the original instead" in failed["message"]
    assert (failed["needs"], failed["choices"]) == ("series", offered)
    client.post(f"{BASE}/{name}/choose", json={"answer": right})
    assert ended(client, name)["state"] == "done"


@pytest.mark.parametrize(("tags", "needs", "option"), [(CORONAL, "any_plane", "non-axial"), (LOSSY, "lossy", "lossy")])
def test_what_is_unusual_is_accepted(
    client: TestClient, tmp_path: Path, tags: dict[str, Any], needs: str, option: str
) -> None:
    scan = series(tmp_path / "scan", (True,), **tags)
    refusal = reduce(scan, tmp_path / "out")
    assert f"--accept-{option}" in refusal.text
    name = send(client, scan)
    failed = ended(client, name)
    assert (failed["state"], failed["needs"]) == ("failed", needs)
    assert failed["message"].split(": ")[-1] == refusal.text.split(": ")[-1].split(";")[0]  # the same rule and words
    assert client.post(f"{BASE}/{name}/choose", json={"answer": 2}).status_code == 400
    assert client.post(f"{BASE}/{name}/choose", json={"answer": 1}).status_code == 200
    assert ended(client, name)["state"] == "done"


def test_a_question_survives_a_restart_and_goes_when_it_is_deleted(tmp_path: Path) -> None:
    scan = series(tmp_path / "scan", (True,), **CORONAL)
    jobs = Jobs(tmp_path / "jobs")
    with TestClient(make_app(TOKEN, {}, jobs, port=PORT), base_url=f"http://127.0.0.1:{PORT}") as client:
        name = send(client, scan)
        broken = send(client, _broken(tmp_path / "broken"))
        assert ended(client, name)["needs"] == "any_plane"
        assert ended(client, broken)["needs"] == ""
        assert client.post(f"{BASE}/{broken}/choose", json={"answer": 1}).status_code == 400
    jobs.close()
    again = Jobs(tmp_path / "jobs", start=False)
    assert again.get(name).needs == "any_plane"
    assert [file.name for file in (tmp_path / "jobs" / name / "upload").iterdir()] == ["00001"]
    assert not (tmp_path / "jobs" / broken / "upload").exists()
    assert again.choose(name, 1).state == "queued"
    again.close()
    third = Jobs(tmp_path / "jobs", start=False)
    assert (third.get(name).state, third.get(name).any_plane) == ("queued", True)  # the answer is on disk
    third.delete(name)
    assert not (tmp_path / "jobs" / name).exists()
    third.close()


def test_jobs_of_an_earlier_version_are_read(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, start=False)
    job = jobs.create(1, "dicom")
    jobs.close()
    path = tmp_path / job.id / "job.json"
    old = json.loads(path.read_text())
    for name in ("series", "any_plane", "lossy", "needs", "choices"):
        del old[name]
    path.write_text(json.dumps(old))
    again = Jobs(tmp_path, start=False)
    assert again.get(job.id).number == job.number
    again.close()


def _with_own_uids(folder: Path) -> Path:
    import pydicom
    from pydicom.uid import UID

    for n, file in enumerate(sorted(folder.iterdir())):
        dataset = pydicom.dcmread(file, force=True)
        uid = UID(f"1.2.3.4.{n + 1}")
        dataset.SOPInstanceUID = dataset.file_meta.MediaStorageSOPInstanceUID = uid
        dataset.save_as(file)
    return folder


def _broken(folder: Path) -> Path:
    folder.mkdir()
    (folder / "x").write_bytes(b"no image")
    return folder
