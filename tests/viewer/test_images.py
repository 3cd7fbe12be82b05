"""The images of a result in every file format."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

from acdnet.errors import InputRefused
from acdnet.viewer.images import open_images
from acdnet.viewer.result import open_result
from tests.reduction.make import change_report, run, volume
from tests.viewer.server import API, client_of

STEP, ROWS, COLUMNS = 3.0, 2.25, 2.0


def nifti(path: Path, slices: Any, axes: str = "LPS", code: int = 1) -> Path:
    """Write slices (bottom to top, front to back, right to left) with the given order of axes."""
    image = nibabel.Nifti1Image(slices.transpose(2, 1, 0), np.diag([-COLUMNS, -ROWS, STEP, 1.0]))
    wanted = nibabel.orientations.axcodes2ornt(tuple(axes))
    image = image.as_reoriented(nibabel.orientations.ornt_transform(nibabel.io_orientation(image.affine), wanted))
    assert "".join(nibabel.aff2axcodes(image.affine)) == axes
    image.set_sform(image.affine, code)
    image.set_qform(image.affine, code)
    nibabel.save(image, path)
    return path


@pytest.mark.parametrize("axes", ["LPS", "RAS", "SAL", "PIR"])
def test_the_order_of_axes_in_a_volume_does_not_matter(axes: str, tmp_path: Path) -> None:
    data = volume((True, False)).astype(np.int16)
    source = nifti(tmp_path / "scan.nii", data, axes)
    assert run("reduce", source, tmp_path / "out", "--method", "li").code == 0
    with client_of({"result": tmp_path / "out"}) as page:
        for n in range(2):
            answer = page.get(f"{API}/results/result/slices/{n}/before")
            assert answer.headers["x-edges"] == "A,L,P,R"
            assert answer.headers["x-spacing"] == "2.25,2"
            assert np.array_equal(np.frombuffer(answer.content, "<i2").reshape(data[n].shape), data[n])


def test_arrays_have_the_pixel_size_of_the_report(tmp_path: Path) -> None:
    np.save(tmp_path / "scan.npy", volume())
    assert run("reduce", tmp_path / "scan.npy", tmp_path / "out", "--method", "li", "--pixel-mm", "2").code == 0
    result = open_result(tmp_path / "out")
    assert np.abs(result.image(1, "before") - volume()[1]).max() < 0.01
    assert result.expected_error_hu(1) is None
    change_report(tmp_path / "out", spacing_mm=[ROWS, COLUMNS])
    assert open_result(tmp_path / "out").plane(0).spacing_mm == (ROWS, COLUMNS)


def test_a_volume_of_unknown_orientation_has_no_letters(tmp_path: Path) -> None:
    source = nifti(tmp_path / "scan.nii", volume((True,)).astype(np.int16), code=0)
    assert run("reduce", source, tmp_path / "out", "--method", "li").code == 0
    assert open_result(tmp_path / "out").plane(0).edges is None


@pytest.mark.parametrize("ending", ["nii", "nii.gz"])
def test_fractions_are_rounded_by_at_most_half_a_unit(ending: str, tmp_path: Path) -> None:
    data = volume() + np.float32(0.3)
    source = nifti(tmp_path / f"scan.{ending}", data)
    assert run("reduce", source, tmp_path / "out", "--method", "li").code == 0
    result = open_result(tmp_path / "out")
    assert np.array_equal(result.image(0, "before"), data[0])  # without metal: bit for bit
    error = np.abs(result.image(1, "before") - data[1]).max()
    assert 0 < error <= 0.501


def test_compressed_volumes_are_not_held_in_memory(tmp_path: Path) -> None:
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


def test_stray_files_are_not_slices(tmp_path: Path) -> None:
    for name in ("0001.png", "0002.png", ".DS_Store", "0002.dcm.bak", "Thumbs.db", "notes.txt"):
        (tmp_path / "reduced").mkdir(exist_ok=True)
        (tmp_path / "reduced" / name).write_text("x")
    assert len(open_images(tmp_path, "reduced")) == 2


def test_ten_thousand_slices_are_in_order(tmp_path: Path) -> None:
    (tmp_path / "reduced").mkdir()
    for number in (9998, 9999, 10000, 10001):
        (tmp_path / "reduced" / f"{number:04d}.png").touch()
    images: Any = open_images(tmp_path, "reduced")
    assert [int(file.stem) for file in images.files] == [9998, 9999, 10000, 10001]


@pytest.mark.parametrize("ending", ["npy", "nii"])
def test_files_that_shrink_after_they_were_opened(ending: str, tmp_path: Path) -> None:
    """Reading behind the end of a file that is mapped into memory would end the server."""
    source = nifti(tmp_path / "scan.nii", volume(size=256).astype(np.int16))
    if ending == "npy":
        source = tmp_path / "scan.npy"
        np.save(source, volume(size=256))
    options = ("--pixel-mm", "2") if ending == "npy" else ()
    assert run("reduce", source, tmp_path / "out", "--method", "li", *options).code == 0
    with client_of({"result": tmp_path / "out"}) as page:
        with (tmp_path / f"out/reduced.{ending}").open("r+b") as file:
            file.truncate(4096)
        answer = page.get(f"{API}/results/result/slices/2/after")
        assert (answer.status_code, "has changed" in answer.text) == (400, True)
