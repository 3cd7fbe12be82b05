"""What a job reports of files that are no scan, and of errors."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from acdnet.errors import InputRefused
from acdnet.viewer.job import ANY_PLANE, LOSSY, PROGRESS, RESULT, SERIES, UPLOAD
from acdnet.viewer.worker import reduce_job
from tests.methods.test_localise import Bright
from tests.reduction.make import report as report_of
from tests.reduction.make import series, volume

HOW = {"kind": "dicom", SERIES: "", ANY_PLANE: False, LOSSY: False, "keep": [], "drop": [], "target": RESULT}


@pytest.mark.parametrize(
    ("start", "advice"),
    [
        (b"PK\x03\x04", "unpack the archive"),
        (b"\x1f\x8b\x08", "by itself"),
        (b"\x89PNG\r\n\x1a\n", "--pixel-mm"),
        (b"\x93NUMPY", "--pixel-mm"),
        (b"hello", "no CT slice found"),
    ],
)
def test_the_kinds_of_files_are_distinguished(start: bytes, advice: str, tmp_path: Path) -> None:
    (tmp_path / UPLOAD).mkdir()
    (tmp_path / UPLOAD / "00001.dcm").write_bytes(start + bytes(600))
    assert reduce_job(tmp_path, HOW) == 3
    message = json.loads((tmp_path / PROGRESS).read_text())["message"]
    assert advice in message
    assert str(tmp_path) not in message


def failed(folder: Path, place: str, error: Exception) -> dict[str, Any]:
    """Return the exit code and the report of a job in which a function raises an error."""

    def fail(*_: object) -> None:
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, fail)
        code = reduce_job(folder, HOW)
    report: dict[str, Any] = json.loads((folder / PROGRESS).read_text())
    return report | {"code": code}


def test_a_stray_archive_is_not_blamed_for_another_fault(tmp_path: Path) -> None:
    (tmp_path / UPLOAD).mkdir()
    (tmp_path / UPLOAD / "00001.dcm").write_bytes(b"PK\x03\x04")
    report = failed(tmp_path, "acdnet.io.open.open_scan", InputRefused("the slices do not fit together"))
    assert (report["code"], report["message"]) == (3, "the slices do not fit together")


def test_f55_unexpected_errors_are_reported_without_their_text(tmp_path: Path) -> None:
    report = failed(tmp_path, "acdnet.viewer.worker._reduce", RuntimeError("PatientName is Secret"))
    assert report["code"] == 1
    assert "Secret" not in str(report)
    assert "RuntimeError" in report["message"]


def test_the_class_of_an_error_and_not_its_text_asks_for_a_choice(tmp_path: Path) -> None:
    error = InputRefused(f"{tmp_path}{os.sep}upload{os.sep}00001: holds; --accept-lossy takes it")
    report = failed(tmp_path, "acdnet.viewer.worker._reduce", error)
    assert report["code"] == InputRefused.exit_code
    assert report["needs"] == ""
    assert report["message"].startswith("file 00001: ")


class Doubtful(Bright):
    """Says of everything bright that it may be metal."""

    def forward(self, channels: torch.Tensor) -> torch.Tensor:
        return torch.where(super().forward(channels) > 0, -0.6, -20.0)


def test_decisions_reach_the_reduction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acdnet.reduction.scan_metal.localiser", lambda: Doubtful(2500.0))
    series(tmp_path / UPLOAD, hu=volume((False, True)))
    assert reduce_job(tmp_path, HOW) == 0
    assert "1 object may be metal" in json.loads((tmp_path / PROGRESS).read_text())["message"]
    assert [one["decision"] for one in report_of(tmp_path / RESULT)["objects"]] == ["doubtful"]
    assert reduce_job(tmp_path, HOW | {"keep": [1], "target": "result-1"}) == 0
    again = report_of(tmp_path / "result-1")
    assert [one["decision"] for one in again["objects"]] == ["kept"]
    assert [one["status"] for one in again["slices"]] == ["unchanged", "reduced"]
    assert np.load(tmp_path / "result-1/maps/0002.npz")["metal"].any()
    assert reduce_job(tmp_path, HOW | {"keep": [2], "target": "result-2"}) != 0
    assert json.loads((tmp_path / PROGRESS).read_text())["message"] == "there is no object 2; this scan has 1"
