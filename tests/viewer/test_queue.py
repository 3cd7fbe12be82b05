"""Uploads for which `acdnet reduce` requires an option: the page asks, and the job continues with the stored files."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pydicom
import pytest
from fastapi.testclient import TestClient
from pydicom.uid import UID

from acdnet.viewer.jobs import Jobs
from acdnet.viewer.rerun import run_with_choice
from tests.reduction.make import reduce, series
from tests.viewer.server import API, client_of, ended, files, submit

BASE = f"{API}/jobs"
CORONAL = {"ImageOrientationPatient": [1, 0, 0, 0, 0, -1]}
OTHER = {
    "SeriesInstanceUID": "1.2.3.4",
    "SeriesNumber": 7,
    "SeriesDescription": "Secret Person",
    "PatientName": "Secret^Person",
    "ConvolutionKernel": "Secret",
}
LOSSY = {"LossyImageCompression": "01", "LossyImageCompressionRatio": "9", "LossyImageCompressionMethod": "ISO_15444_1"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with closing(Jobs(tmp_path / "jobs")) as jobs, client_of(jobs=jobs) as opened:
        yield opened


def send(client: TestClient, *folders: Path) -> str:
    return submit(client, [data for folder in folders for data in files(folder)])


def _with_own_uids(folder: Path) -> Path:
    for n, file in enumerate(sorted(folder.iterdir())):
        dataset = pydicom.dcmread(file, force=True)
        uid = UID(f"1.2.3.4.{n + 1}")
        dataset.SOPInstanceUID = dataset.file_meta.MediaStorageSOPInstanceUID = uid
        dataset.save_as(file)
    return folder


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
    assert len(client.get(f"{API}/results/{name}").json()["slices"]) == 3
    assert client.post(f"{BASE}/{name}/choose", json={"answer": 1}).status_code == 400
    assert (tmp_path / "jobs" / name / "upload").exists() == (done["objects"] > 0)


def test_a_wrong_choice_can_be_corrected(client: TestClient, tmp_path: Path) -> None:
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
def test_unusual_scans_can_be_accepted(
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


def test_an_open_choice_survives_a_restart_and_is_deleted_with_its_job(tmp_path: Path) -> None:
    scan = series(tmp_path / "scan", (True,), **CORONAL)
    jobs = Jobs(tmp_path / "jobs")
    with client_of(jobs=jobs) as client:
        name = send(client, scan)
        broken = submit(client, [b"no image"])
        assert ended(client, name)["needs"] == "any_plane"
        assert ended(client, broken)["needs"] == ""
        assert client.post(f"{BASE}/{broken}/choose", json={"answer": 1}).status_code == 400
    jobs.close()
    again = Jobs(tmp_path / "jobs", start=False)
    assert again.get(name).needs == "any_plane"
    assert [file.name for file in (tmp_path / "jobs" / name / "upload").iterdir()] == ["00001"]
    assert not (tmp_path / "jobs" / broken / "upload").exists()
    assert run_with_choice(again, name, 1).state == "queued"
    again.close()
    with closing(Jobs(tmp_path / "jobs", start=False)) as third:
        assert (third.get(name).state, third.get(name).any_plane) == ("queued", True)  # the answer is on disk
        third.delete(name)
        assert not (tmp_path / "jobs" / name).exists()
