"""How slices lie: letters and distances, whatever the axes of a volume; and slices that were left as they came."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
from fastapi.testclient import TestClient

from acdnet.errors import InputRefused
from acdnet.viewer.app import make_app
from acdnet.viewer.result import open_result
from acdnet.viewer.stages import StageView
from tests.reduction.make import run, series, volume

TOKEN, PORT = "a-token-that-nobody-knows", 8123
STEP, ROWS, COLUMNS = 3.0, 2.25, 2.0


def as_nifti(path: Path, slices: Any, codes: str) -> Path:
    """Write slices (bottom to top, front to back, right to left) with axes that run as the codes say."""
    found = nibabel.Nifti1Image(slices.transpose(2, 1, 0), np.diag([-COLUMNS, -ROWS, STEP, 1.0]))
    turn = nibabel.orientations.ornt_transform(
        nibabel.io_orientation(found.affine), nibabel.orientations.axcodes2ornt(tuple(codes))
    )
    turned = found.as_reoriented(turn)
    assert "".join(nibabel.aff2axcodes(turned.affine)) == codes
    turned.set_sform(turned.affine, 1)
    turned.set_qform(turned.affine, 1)
    nibabel.save(turned, path)
    return path


@pytest.mark.parametrize("codes", ["LPS", "RAS", "SAL", "PIR"])
def test_volumes_lie_alike_whatever_their_axes(codes: str, tmp_path: Path) -> None:
    data = volume((True, False)).astype(np.int16)
    source = as_nifti(tmp_path / "scan.nii", data, codes)
    assert run("reduce", source, tmp_path / "out", "--method", "li").code == 0
    with client(tmp_path / "out") as page:
        for n in range(2):
            answer = page.get(f"/{TOKEN}/api/results/result/slices/{n}/before")
            assert answer.headers["x-edges"] == "A,L,P,R"
            assert answer.headers["x-spacing"] == "2.25,2"
            assert np.array_equal(np.frombuffer(answer.content, "<i2").reshape(data[n].shape), data[n])


def test_distances_are_those_of_rows_first(tmp_path: Path) -> None:
    scan = series(tmp_path / "scan", (True,), PixelSpacing=[ROWS, COLUMNS])
    assert run("reduce", scan, tmp_path / "out", "--method", "li").code == 0
    assert open_result(tmp_path / "out").plane(0).spacing_mm == (ROWS, COLUMNS)
    with client(tmp_path / "out") as page:
        for layer in ("before", "after", "difference"):
            answer = page.get(f"/{TOKEN}/api/results/result/slices/0/{layer}")
            assert answer.headers["x-spacing"] == f"{ROWS:g},{COLUMNS:g}"


def test_distances_that_a_file_does_not_say_are_those_of_the_report(tmp_path: Path) -> None:
    np.save(tmp_path / "scan.npy", volume((True,)))
    assert run("reduce", tmp_path / "scan.npy", tmp_path / "out", "--method", "li", "--pixel-mm", "2").code == 0
    report = json.loads((tmp_path / "out/report.json").read_text())
    (tmp_path / "out/report.json").write_text(json.dumps(report | {"spacing_mm": [ROWS, COLUMNS]}))
    assert open_result(tmp_path / "out").plane(0).spacing_mm == (ROWS, COLUMNS)


def test_a_slice_that_was_passed_through_has_no_stages(tmp_path: Path) -> None:
    assert run("reduce", series(tmp_path / "scan"), tmp_path / "out").code == 0
    shutil.copytree(tmp_path / "out", tmp_path / "passed")
    report = json.loads((tmp_path / "passed/report.json").read_text())
    report["slices"][1] |= {"status": "passed through", "reason": "the result would be worse"}
    (tmp_path / "passed/report.json").write_text(json.dumps(report))
    inside = StageView(open_result(tmp_path / "passed"))
    for ask in (inside.describe, lambda n: inside.image(n, "images", 0)):
        with pytest.raises(InputRefused, match="slice 2 was not reduced: the result would be worse"):
            ask(1)
    assert inside.describe(2)["stages"] > 0
    with client(tmp_path / "passed") as page:
        answer = page.get(f"/{TOKEN}/api/results/result/slices/1/stages/about")
        assert answer.status_code == 400
        assert "would be worse" in answer.json()["error"]


def client(folder: Path) -> TestClient:
    return TestClient(make_app(TOKEN, {"result": folder}, port=PORT), base_url=f"http://127.0.0.1:{PORT}")
