"""Results of `acdnet reduce`, whole and damaged."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest

from acdnet.errors import InputRefused
from acdnet.viewer import result as result_module
from acdnet.viewer.result import open_result
from acdnet.viewer.safe_read import load_arrays
from acdnet.viewer.view_model import Plane
from tests.reduction.make import change_report, run, series, volume
from tests.viewer.conftest import METAL
from tests.viewer.server import API, client_of

SHAPE = (96, 96)


@pytest.fixture
def copied(reduced_by_li: Path, tmp_path: Path) -> Path:
    """Copy a result to damage it."""
    shutil.copytree(reduced_by_li, tmp_path / "out")
    return tmp_path / "out"


def test_the_input_is_recovered(reduced: Path) -> None:
    result, scan = open_result(reduced), volume(METAL)
    for n in range(len(METAL)):
        assert np.array_equal(result.image(n, "before"), np.rint(scan[n]))
        assert np.array_equal(result.image(n, "after") - result.image(n, "before"), result.image(n, "difference"))
    assert np.abs(result.image(1, "difference")).max() > 10
    about = result.describe()
    assert about["shape"] == [96, 96]
    assert result.plane(0) == Plane((2.0, 2.0), ("A", "L", "P", "R"))
    assert [entry["status"] for entry in about["slices"]] == ["unchanged", "reduced", "reduced", "reduced"]
    assert result.metal(0) is None
    metal, expected_error = result.metal(1), result.expected_error_hu(1)
    assert metal is not None
    assert metal.any()
    assert expected_error is not None
    assert expected_error.shape == metal.shape


def test_f54_a_result_without_the_original_is_refused(copied: Path) -> None:
    shutil.rmtree(copied / "difference")
    with pytest.raises(InputRefused, match="difference is missing"):
        open_result(copied)
    assert run("view", copied).code == 3
    assert "no-such-model" in run("view", copied, "--model", "no-such-model").text  # checked first


def test_f54_a_pair_of_other_sizes_is_refused(copied: Path, tmp_path: Path) -> None:
    (copied / "difference/0003.dcm").unlink()
    with pytest.raises(InputRefused, match="difference has 2 slices"):
        open_result(copied)
    other = series(tmp_path / "other", hu=np.full((3, 80, 80), 40.0, np.float32))
    for number, file in enumerate(sorted(other.iterdir()), 1):
        shutil.copy(file, copied / f"difference/{number:04d}.dcm")
    with pytest.raises(InputRefused, match=r"its difference \(80, 80\)"):
        open_result(copied)


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match="no such folder"):
        open_result(tmp_path / "nothing")
    with pytest.raises(InputRefused, match=r"report\.json"):
        open_result(tmp_path)
    for text in ("{", "[]", '{"a": 1}'):
        (tmp_path / "report.json").write_text(text)
        with pytest.raises(InputRefused, match=r"report\.json"):
            open_result(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("slices", bad) for bad in ("null", "[]", "{}", '"many"', "3", "[null, null, null]", "[{}, {}, 1]")),
        *(("spacing_mm", bad) for bad in ("null", '"x"', "[1]", "[1, 0]", '[1, "a"]', "[true, 1]", "[1, 2, 3]")),
        *(("cautions", "3"), ("counts", "[]")),
    ],
)
def test_impossible_values_in_a_report_are_refused(copied: Path, name: str, value: str) -> None:
    change_report(copied, **{name: json.loads(value)})
    with pytest.raises(InputRefused, match=r"report\.json"):
        open_result(copied)


@pytest.mark.parametrize("value", [[10**400, 1], [1, 1e300], [1e-300, 1], [[[[]]], 1], [1, 10**14]])
def test_f75_a_spacing_that_is_none(copied: Path, value: Any) -> None:
    change_report(copied, spacing_mm=value)
    viewed = run("view", copied)
    assert viewed.code == 3
    assert len(viewed.text.splitlines()) == 1
    assert "report.json" in viewed.text


def test_f75_deep_nesting_in_a_report(copied: Path) -> None:
    report = (copied / "report.json").read_text()
    for text in ('{"new": ' + "[" * 900 + "]" * 900 + "," + report.lstrip()[1:], "[" * 10**6):
        (copied / "report.json").write_text(text)
        with pytest.raises(InputRefused, match="is not valid JSON"):
            open_result(copied)


def test_f75_a_pixel_size_that_no_scanner_has(copied: Path) -> None:
    path = copied / "reduced/0002.dcm"
    dataset = pydicom.dcmread(path)
    dataset.PixelSpacing = [1e-300, 1e300]
    dataset.save_as(path)
    with pytest.raises(InputRefused, match="pixel size of slice 2 is 1e-300"):
        open_result(copied).plane(1)


@pytest.mark.parametrize("number", ["1e999", "NaN", "-Infinity"])
def test_numbers_that_are_not_finite_are_refused(copied: Path, number: str) -> None:
    text = json.dumps({"slices": [{"mean_change_hu": 12345}] * 3}).replace("12345", number)
    (copied / "report.json").write_text(text)
    with pytest.raises(InputRefused, match="is not valid JSON"):
        open_result(copied)


@pytest.mark.parametrize(
    ("arrays", "what"),
    [
        ({"expected_error_hu": np.zeros(SHAPE, np.uint16)}, "metal is missing"),
        ({"metal": np.zeros((80, 96), bool)}, r"metal is bool of shape \(80, 96\)"),
        ({"metal": np.array(["x"])}, "metal is <U1"),
        ({"metal": np.zeros(SHAPE, bool), "expected_error_hu": np.zeros(3)}, "expected_error_hu is float64"),
    ],
)
def test_maps_that_do_not_fit_are_refused(copied: Path, arrays: dict[str, Any], what: str) -> None:
    np.savez(copied / "maps/0002.npz", **arrays)
    with pytest.raises(InputRefused, match=what):
        open_result(copied).metal(1)
    with client_of({"result": copied}) as client:
        answer = client.get(f"{API}/results/result/slices/1/metal")
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("maps/0002.npz: ")  # without its folder


def test_maps_are_read_once(reduced_by_li: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []

    def noted(path: Path, limit: int) -> Any:
        read.append(path)
        return load_arrays(path, limit)

    monkeypatch.setattr(result_module, "load_arrays", noted)
    result = open_result(reduced_by_li)
    for _ in range(3):
        for n in (0, 1, 2):
            result.metal(n)
            result.expected_error_hu(n)
    assert [path.name for path in read] == ["0002.npz", "0003.npz"]
