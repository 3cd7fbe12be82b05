"""Results of `acdnet evaluate`."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acdnet.errors import InputRefused
from acdnet.viewer.result import open_result
from acdnet.viewer.stages import StageView


def test_an_evaluation(evaluated: Path, sinogram_store: Path, tmp_path: Path) -> None:
    result = open_result(evaluated)
    about = result.describe()
    assert [layer["label"] for layer in about["layers"]] == [
        *("Input", "LI", "Truth", "Input - Truth", "LI - Truth", "LI - Input"),
    ]
    assert about["first"] == ["m0", "m1", "clean", "m1-clean"]
    assert [layer["is_difference"] for layer in about["layers"]] == [False] * 3 + [True] * 3
    assert about["tables"]
    assert result.image(0, "m1").shape == tuple(about["shape"])
    assert np.array_equal(result.image(0, "m1-clean"), result.image(0, "m1") - result.image(0, "clean"))
    assert np.array_equal(result.image(0, "m1-m0"), result.image(0, "m1") - result.image(0, "m0"))
    metal = result.metal(0)
    assert metal is not None
    assert metal.any()
    manifest = json.loads((sinogram_store / "manifest.json").read_text())
    sizes = {(entry["pixel_mm"], entry["pixel_mm"]) for entry in manifest["slices"]}
    assert {result.plane(n).spacing_mm for n in range(len(about["slices"]))} <= sizes
    assert "evaluation" in StageView(result).why_unavailable()

    shutil.copytree(evaluated, tmp_path / "out")
    arrays = dict(np.load(evaluated / "cases.npz"))
    del arrays["pixel_mm"]  # of unknown pixel size
    np.savez(tmp_path / "out/cases.npz", **arrays)
    assert open_result(tmp_path / "out").plane(0).spacing_mm is None


def evaluation(folder: Path, **values: Any) -> Path:
    arrays: dict[str, Any] = {"cases": np.array(["a", "b"]), "methods": np.array(["Input", "LI"])}
    for n in range(2):
        arrays |= {f"{n}/{name}": np.zeros((9, 7), np.int16) for name in ("clean", "m0", "m1")}
        arrays[f"{n}/metal"] = np.zeros((9, 7), bool)
    arrays = {name: array for name, array in (arrays | values).items() if array is not None}
    np.savez(folder / "cases.npz", **arrays)
    (folder / "report.json").write_text(json.dumps({"tables": []}))
    return folder


def test_incomplete_evaluations_are_refused(tmp_path: Path) -> None:
    assert open_result(evaluation(tmp_path)).count == 2
    bad: list[dict[str, Any]] = [{f"1/{name}": None} for name in ("clean", "metal", "m0", "m1")]
    bad += [{"1/m1": np.zeros((7, 9))}, {"0/clean": np.zeros(9)}, {"0/metal": np.array("x")}]
    bad += [{"cases": None}, {"methods": np.array("x")}, {"cases": np.array([], str)}, {"methods": np.arange(3)}]
    for values in bad:
        with pytest.raises(InputRefused, match=r"cases\.npz"):
            open_result(evaluation(tmp_path, **values))
    no_text = np.array([0x7FFFFFFF, 0xD800], "<u4").view("<U1")
    for name in ("cases", "methods"):
        with pytest.raises(InputRefused, match="no text"):
            open_result(evaluation(tmp_path, **{name: no_text}))
    nan = open_result(evaluation(tmp_path, **{"0/metal": np.full((9, 7), np.nan)}))
    assert nan.describe()["slices"][0]["metal_pixels"] == 63
    odd = open_result(evaluation(tmp_path, pixel_mm=np.array(["x", "y"])))
    assert odd.plane(1).spacing_mm is None
