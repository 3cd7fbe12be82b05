from __future__ import annotations

import gc
import json
import shutil
import tracemalloc
import weakref
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

from acdnet.errors import InputRefused
from acdnet.viewer.result import open_result
from acdnet.viewer.sessions import MAX_OPEN, Sessions
from acdnet.viewer.stages import StageCache, Stages, StageView
from acdnet.viewer.view_model import Plane, edges
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
    metal, doubt = result.metal(1), result.expected_error_hu(1)
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
    assert result.expected_error_hu(1) is None


def test_f54_a_result_without_the_original_is_refused(reduced: Path, tmp_path: Path) -> None:
    shutil.copytree(reduced, tmp_path / "out")
    shutil.rmtree(tmp_path / "out/difference")
    with pytest.raises(InputRefused, match="difference is missing"):
        open_result(tmp_path / "out")
    assert run("view", tmp_path / "out").code == 3
    assert "no-such-model" in run("view", tmp_path / "out", "--model", "no-such-model").text  # before anything else


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
    inside = StageView(result)
    assert inside.why_unavailable() == ""
    about = inside.describe(1)
    assert about["stages"] == len(about["kernels"]) == len(about["residual_hu"])
    assert about["images"] == about["stages"] + 2  # the start, the stages, the last clean-up
    last = inside.image(1, "images", about["images"] - 1)
    metal = result.metal(1)
    assert metal is not None
    assert np.abs(last - result.image(1, "after"))[~metal].max() < 1.0  # the page shows what was written
    assert inside.image(1, "maps", 0, 2).shape == last.shape
    with pytest.raises(InputRefused, match="slice 1 has no metal"):
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
    assert "--model" in StageView(result).why_unavailable()
    assert "is not the model" in StageView(result, "default").why_unavailable()


def test_nothing_is_kept_of_a_result_that_was_closed(reduced: Path) -> None:
    cache = StageCache()
    inside, early, other = (StageView(open_result(reduced), "", cache) for _ in range(3))
    some = Stages([], [], [], [], [], [], np.zeros(1, np.float32))

    def compute() -> Stages:
        inside.close()  # somebody deletes the scan meanwhile
        return some

    cache.compute((inside.owner, 1), compute)
    assert not cache.kept
    early.close()  # after it was opened, and before the work began
    cache.compute((early.owner, 1), lambda: some)
    assert not cache.kept
    cache.compute((other.owner, 1), lambda: some)
    assert list(cache.kept) == [(other.owner, 1)]
    other.close()
    assert not cache.kept


def test_why_there_are_no_stages(reduced: Path, tmp_path: Path) -> None:
    scan = series(tmp_path / "scan", (True,))
    assert run("reduce", scan, tmp_path / "li", "--method", "li").code == 0
    why = StageView(open_result(tmp_path / "li")).why_unavailable()
    assert "made by LI" in why
    assert "not a network" in why
    assert "--model" not in why
    shutil.copytree(reduced, tmp_path / "out")
    report = json.loads((tmp_path / "out/report.json").read_text())
    (tmp_path / "out/report.json").write_text(
        json.dumps(report | {"weights": "0" * 64, "method": "CNNMAR (some-model)"})
    )
    why = StageView(open_result(tmp_path / "out"), "default").why_unavailable()
    assert "made by CNNMAR (some-model), another network" in why


def test_an_evaluation(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    assert run("evaluate", store, "--out", tmp_path / "out", "--methods", "input,li", "--lesions", 0).code == 0
    result = open_result(tmp_path / "out")
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
    manifest = json.loads((store / "manifest.json").read_text())
    sizes = {(entry["pixel_mm"], entry["pixel_mm"]) for entry in manifest["slices"]}
    assert {result.plane(n).spacing_mm for n in range(len(about["slices"]))} <= sizes
    assert "evaluation" in StageView(result).why_unavailable()

    arrays = dict(np.load(tmp_path / "out/cases.npz"))
    del arrays["pixel_mm"]  # as earlier versions wrote it
    np.savez(tmp_path / "out/cases.npz", **arrays)
    assert open_result(tmp_path / "out").plane(0).spacing_mm is None


@pytest.mark.parametrize(
    ("plane", "letters"),
    [
        ((1, 0, 0, 0, 1, 0), "ALPR"),  # lying on the back, seen from the feet
        ((-1, 0, 0, 0, -1, 0), "PRAL"),  # lying on the belly
        ((0, 1, 0, -1, 0, 0), "LPRA"),
        ((1, 0, 0, 0, 0, -1), "HLFR"),  # coronal
    ],
)
def test_edges_are_named_as_they_lie(plane: tuple[int, ...], letters: str) -> None:
    top, right, bottom, left = edges(np.array(plane[:3]), np.array(plane[3:]))
    assert top + right + bottom + left == letters


def test_leaning_edges_have_two_letters() -> None:
    turn, tilt = np.radians([30, 10])
    down = np.array([-np.sin(turn), np.cos(turn), 0.0])
    assert edges(np.array([np.cos(turn), np.sin(turn), 0.0]), down) == ("AL", "LP", "PR", "RA")
    assert edges(np.array([1.0, 0, 0]), np.array([0, np.cos(tilt), -np.sin(tilt)])) == ("A", "L", "P", "R")


def test_dark_and_light_are_told_by_the_file(tmp_path: Path) -> None:
    scan = series(tmp_path / "scan", (True,), PhotometricInterpretation="MONOCHROME1")
    assert run("reduce", scan, tmp_path / "out", "--method", "li").code == 0
    result = open_result(tmp_path / "out")
    assert result.plane(0).inverted
    assert np.array_equal(result.image(0, "before"), np.rint(volume((True,))[0]))  # the numbers are what they are


def nifti(path: Path, data: Any, affine: Any = None, code: int = 1) -> Path:
    step, rows, columns = SPACING
    image = nibabel.Nifti1Image(
        data.transpose(2, 1, 0), np.diag([-columns, -rows, step, 1.0]) if affine is None else affine
    )
    image.set_sform(image.affine, code)
    image.set_qform(image.affine, code)
    nibabel.save(image, path)
    return path


def test_nifti_says_where_it_lies_if_it_knows(tmp_path: Path) -> None:
    data = volume((True,)).astype(np.int16)
    for code, wanted in ((1, ("A", "L", "P", "R")), (0, None)):
        source = nifti(tmp_path / f"scan{code}.nii", data, code=code)
        assert run("reduce", source, tmp_path / f"out{code}", "--method", "li").code == 0
        assert open_result(tmp_path / f"out{code}").plane(0).edges == wanted


@pytest.mark.parametrize("ending", ["nii", "nii.gz"])
def test_fractions_come_out_within_half_a_unit(ending: str, tmp_path: Path) -> None:
    data = volume() + np.float32(0.3)
    source = nifti(tmp_path / f"scan.{ending}", data)
    assert run("reduce", source, tmp_path / "out", "--method", "li").code == 0
    result = open_result(tmp_path / "out")
    assert np.array_equal(result.image(0, "before"), data[0])  # without metal: bit for bit
    error = np.abs(result.image(1, "before") - data[1]).max()
    assert 0 < error <= 0.501


def test_packed_volumes_are_not_held_in_memory(tmp_path: Path) -> None:
    size, out = 256, tmp_path / "out"
    data = np.repeat(volume((True,), size=size).astype(np.int16), 100, 0)
    out.mkdir()
    for kind in ("reduced", "difference"):
        nifti(out / f"{kind}.nii.gz", data)
    report = {"slices": [{"number": n + 1, "status": "unchanged"} for n in range(len(data))], "method": "LI"}
    (out / "report.json").write_text(json.dumps(report))
    tracemalloc.start()
    result = open_result(out)
    for n in range(0, 100, 10):
        assert np.array_equal(result.image(n, "after"), data[n])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < data.nbytes  # of two volumes, and of slices in floating-point numbers
    assert sorted(file.name for file in out.iterdir()) == ["difference.nii.gz", "reduced.nii.gz", "report.json"]

    short = (out / "reduced.nii.gz").read_bytes()
    (out / "reduced.nii.gz").write_bytes(short[: len(short) // 2])
    with pytest.raises(InputRefused, match="voxels cannot be read"):
        open_result(out)


def test_results_that_are_closed_are_gone_at_once(reduced: Path) -> None:
    shown = Sessions({f"r{n}": reduced for n in range(MAX_OPEN + 1)}, None)
    first = weakref.ref(shown.open("r0")[0])
    gc.disable()
    try:
        for n in range(1, MAX_OPEN):
            shown.open(f"r{n}")
        assert first() is not None
        shown.open(f"r{MAX_OPEN}")
        assert first() is None  # without waiting for the garbage collector
    finally:
        gc.enable()
    assert len(shown.opened) == MAX_OPEN
