from __future__ import annotations

import json
import shutil
from pathlib import Path

import nibabel
import numpy as np
import pytest

from acdnet.errors import InputRefused
from acdnet.viewer.inside import Inside
from acdnet.viewer.layer import Plane
from acdnet.viewer.result import open_result
from tests.reduction.make import SPACING, run, series, volume
from tests.train.make import small_store


@pytest.fixture(scope="module")
def reduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("viewer")
    assert run("reduce", series(folder / "scan"), folder / "out").code == 0
    return folder / "out"


def test_before_is_what_came_in(reduced: Path) -> None:
    result = open_result(reduced)
    scan = volume()
    for n in range(3):
        assert np.array_equal(result.image(n, "before"), np.rint(scan[n]))
        assert np.array_equal(result.image(n, "after") - result.image(n, "before"), result.image(n, "difference"))
    assert np.abs(result.image(1, "difference")).max() > 10
    about = result.describe()
    assert about["shape"] == [96, 96]
    assert result.plane(0) == Plane((2.0, 2.0), ("A", "L", "P", "R"))
    assert [entry["status"] for entry in about["slices"]] == ["unchanged", "reduced", "reduced"]
    assert result.metal(0) is None
    metal, doubt = result.metal(1), result.doubt(1)
    assert metal is not None
    assert metal.any()
    assert doubt is not None
    assert doubt.shape == metal.shape


@pytest.mark.parametrize("kind", ["npy", "nii.gz"])
def test_other_formats(kind: str, tmp_path: Path) -> None:
    data = volume().astype(np.int16)
    source = tmp_path / f"scan.{kind}"
    if kind == "npy":
        np.save(source, data.astype(np.float32))
        options = ["--pixel-mm", "2"]
    else:
        step, rows, columns = SPACING
        nibabel.save(nibabel.Nifti1Image(data.transpose(2, 1, 0), np.diag([-columns, -rows, step, 1.0])), source)
        options = []
    assert run("reduce", source, tmp_path / "out", "--method", "li", *options).code == 0
    result = open_result(tmp_path / "out")
    assert np.abs(result.image(1, "before") - data[1]).max() < 0.01
    assert result.doubt(1) is None


def test_f54_a_result_without_the_original_is_refused(reduced: Path, tmp_path: Path) -> None:
    shutil.copytree(reduced, tmp_path / "out")
    shutil.rmtree(tmp_path / "out/difference")
    with pytest.raises(InputRefused, match="difference is missing"):
        open_result(tmp_path / "out")
    assert run("view", tmp_path / "out").code == 3


def test_f54_a_pair_of_other_sizes_is_refused(reduced: Path, tmp_path: Path) -> None:
    shutil.copytree(reduced, tmp_path / "out")
    (tmp_path / "out/difference/0003.dcm").unlink()
    with pytest.raises(InputRefused, match="difference has 2 slices"):
        open_result(tmp_path / "out")
    other = series(tmp_path / "other", hu=np.full((3, 80, 80), 40.0, np.float32))
    for number, file in enumerate(sorted(other.iterdir()), 1):
        shutil.copy(file, tmp_path / f"out/difference/{number:04d}.dcm")
    with pytest.raises(InputRefused, match=r"its difference \(80, 80\)"):
        open_result(tmp_path / "out")


def test_what_is_no_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match="no such folder"):
        open_result(tmp_path / "nothing")
    with pytest.raises(InputRefused, match=r"report\.json"):
        open_result(tmp_path)
    for text in ("{", "[]", '{"a": 1}'):
        (tmp_path / "report.json").write_text(text)
        with pytest.raises(InputRefused, match=r"report\.json"):
            open_result(tmp_path)


@pytest.mark.parametrize("metal_hu", [3071.0, 12_000.0])
def test_inside_the_network(metal_hu: float, tmp_path: Path) -> None:
    scan = series(tmp_path / "scan", hu=volume(metal_hu=metal_hu))
    assert run("reduce", scan, tmp_path / "out").code == 0
    result = open_result(tmp_path / "out")
    inside = Inside(result)
    assert inside.why_not() == ""
    about = inside.describe(1)
    assert about["stages"] == len(about["kernels"]) == len(about["residual_hu"])
    assert about["images"] == about["stages"] + 2  # the start, the stages, the last clean-up
    last = inside.image(1, "images", about["images"] - 1)
    metal = result.metal(1)
    assert metal is not None
    assert np.abs(last - result.image(1, "after"))[~metal].max() < 1.0  # the page shows what was written
    assert inside.image(1, "maps", 0, 2).shape == last.shape
    with pytest.raises(InputRefused, match="no metal"):
        inside.describe(0)
    with pytest.raises(InputRefused, match="no artifacts of stage 99"):
        inside.image(1, "artifacts", 99)
    with pytest.raises(InputRefused, match="no map"):
        inside.image(1, "maps", 0, 99)


def test_a_model_that_did_not_make_it_is_refused(reduced: Path, tmp_path: Path) -> None:
    shutil.copytree(reduced, tmp_path / "out")
    report = json.loads((tmp_path / "out/report.json").read_text())
    (tmp_path / "out/report.json").write_text(json.dumps(report | {"weights": "0" * 64}))
    result = open_result(tmp_path / "out")
    assert "--model" in Inside(result).why_not()
    assert "is not the model" in Inside(result, "default").why_not()


def test_an_evaluation(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    assert run("evaluate", store, "--out", tmp_path / "out", "--methods", "input,li", "--lesions", 0).code == 0
    result = open_result(tmp_path / "out")
    about = result.describe()
    assert [layer["label"] for layer in about["layers"]] == [
        *("Input", "LI", "Truth", "Input - Truth", "LI - Truth", "LI - Input"),
    ]
    assert about["tables"]
    assert result.image(0, "m1").shape == tuple(about["shape"])
    metal = result.metal(0)
    assert metal is not None
    assert metal.any()
