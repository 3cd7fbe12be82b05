"""What a job tells of files that are no scan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acdnet.errors import InputRefused
from acdnet.viewer.job import ANY_PLANE, LOSSY, PROGRESS, SERIES, UPLOAD
from acdnet.viewer.worker import reduce_job

HOW = {"kind": "dicom", SERIES: "", ANY_PLANE: False, LOSSY: False}


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
def test_files_of_known_kinds_are_told_apart(start: bytes, advice: str, tmp_path: Path) -> None:
    (tmp_path / UPLOAD).mkdir()
    (tmp_path / UPLOAD / "00001.dcm").write_bytes(start + bytes(600))
    assert reduce_job(tmp_path, HOW) == 3
    told = json.loads((tmp_path / PROGRESS).read_text())
    assert advice in told["message"]
    assert str(tmp_path) not in told["message"]


def test_a_stray_archive_is_not_blamed_for_another_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise InputRefused("the slices do not fit together")

    monkeypatch.setattr("acdnet.io.open.open_scan", refuse)
    (tmp_path / UPLOAD).mkdir()
    (tmp_path / UPLOAD / "00001.dcm").write_bytes(b"PK\x03\x04")
    assert reduce_job(tmp_path, HOW) == 3
    assert json.loads((tmp_path / PROGRESS).read_text())["message"] == "the slices do not fit together"
