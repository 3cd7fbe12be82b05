"""Scans of every kind: read, changed, written, read again."""

import gzip
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pydicom
import pytest
from PIL import Image

from acdnet.errors import ConfigError, InputRefused
from acdnet.io.arrays import ArrayScan
from acdnet.io.nifti import NiftiScan, axial_view, open_nifti
from acdnet.io.open import Opening, open_scan
from tests.reduction.make import reduce, report, series, volume


def nifti(path: Path, data: Any, affine: Any = None, dtype: Any = np.int16, slope: float | None = None) -> Path:
    image = nibabel.Nifti1Image(np.asarray(data, dtype), np.diag([2.0, 2.0, 3.0, 1.0]) if affine is None else affine)
    if slope is not None:
        image.header.set_slope_inter(slope, 0)
    image.to_filename(path)
    return path


AFFINES = {
    "RAS": np.diag([2.0, 2.0, 3.0, 1.0]),
    "LPS": np.diag([-2.0, -2.0, 3.0, 1.0]),
    "SRA": np.array([[0, 2.0, 0, 0], [0, 0, 2.0, 0], [3.0, 0, 0, 0], [0, 0, 0, 1]]),
}


@pytest.mark.parametrize("name", AFFINES)
def test_the_order_of_axes_of_a_nifti_volume_does_not_matter(tmp_path: Path, name: str) -> None:
    """The same patient stored in three orders of axes gives the same slices, and goes back to where it came from."""
    standard = volume().astype(np.int16)  # slices up, rows to the back, columns to the left
    path = tmp_path / "a.nii.gz"
    empty = np.zeros({"RAS": (96, 96, 3), "LPS": (96, 96, 3), "SRA": (3, 96, 96)}[name], np.int16)
    nifti(path, empty, AFFINES[name])
    axial_view(empty, open_nifti(path)[1])[...] = standard
    nifti(path, empty, AFFINES[name])
    scan = NiftiScan(path)
    assert np.array_equal(np.stack([scan.read(n).hu for n in range(3)]), standard)
    assert reduce(path, tmp_path / "out").code == 0
    after = NiftiScan(tmp_path / "out/reduced.nii.gz")
    assert np.array_equal(after.read(0).hu, standard[0])
    assert not np.array_equal(after.read(1).hu, standard[1])
    assert np.array_equal(after.volume.affine, scan.volume.affine)
    difference = NiftiScan(tmp_path / "out/difference.nii.gz")
    assert np.array_equal(difference.read(1).hu, after.read(1).hu - standard[1])


def test_the_header_of_a_nifti_volume_is_kept(tmp_path: Path) -> None:
    path = nifti(tmp_path / "a.nii", np.moveaxis(volume(), 0, 2) / 2, slope=None)
    raw = bytearray(path.read_bytes())
    raw[112:120] = np.array([2.0, 0.0], "<f4").tobytes()  # scl_slope, scl_inter
    path.write_bytes(bytes(raw))
    assert reduce(path, tmp_path / "out").code == 0
    after = (tmp_path / "out/reduced.nii").read_bytes()
    assert after[:148] == bytes(raw[:148])
    assert b"not for diagnosis" in after[148:228]
    assert after[228:352] == bytes(raw[228:352])
    assert NiftiScan(tmp_path / "out/reduced.nii").read(1).hu.max() == pytest.approx(3071, abs=1)


def test_floating_point_volumes(tmp_path: Path) -> None:
    path = nifti(tmp_path / "a.nii.gz", np.moveaxis(volume(), 0, 2), dtype=np.float32)
    assert reduce(path, tmp_path / "out").code == 0
    before, after = (NiftiScan(file).raw for file in (path, tmp_path / "out/reduced.nii.gz"))
    assert after.dtype == np.float32
    assert np.array_equal(before[..., 0], after[..., 0])


@pytest.mark.parametrize("data", [b"", b"nonsense", gzip.compress(b"nonsense", mtime=0)], ids=["empty", "text", "gzip"])
def test_broken_volumes_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.nii.gz").write_bytes(data)
    assert reduce(tmp_path / "a.nii.gz", tmp_path / "out").code == 3


def test_pictures(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    images = volume().astype(np.int32)
    for n, image in enumerate(images):
        Image.fromarray((image + 32768).astype(np.uint16)).save(folder / f"{n}.{'PNG' if n == 1 else 'png'}")
    assert "--pixel-mm" in reduce(folder, tmp_path / "out").text
    assert reduce(folder, tmp_path / "out", "--pixel-mm", 2).code == 0
    after = [np.asarray(Image.open(tmp_path / f"out/reduced/000{n}.png"), np.int64) - 32768 for n in (1, 2)]
    assert np.array_equal(after[0], images[0])
    assert not np.array_equal(after[1], images[1])
    changes = np.asarray(Image.open(tmp_path / "out/difference/0002.png"), np.int64) - 32768
    assert np.array_equal(after[1] - images[1], changes)


@pytest.mark.parametrize("dtype", [np.int16, np.float32, np.float64])
def test_arrays(tmp_path: Path, dtype: Any) -> None:
    before = volume().astype(dtype)
    np.save(tmp_path / "a.npy", before)
    assert reduce(tmp_path / "a.npy", tmp_path / "out", "--pixel-mm", 2).code == 0
    after, change = (np.load(tmp_path / f"out/{name}.npy") for name in ("reduced", "difference"))
    assert after.dtype == dtype
    assert np.array_equal(before[0], after[0])
    assert np.allclose(before.astype(float) + change, after, atol=1e-2)
    assert change[1].any()


def test_other_files_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(4))
    np.save(tmp_path / "b.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "c.npy").write_bytes(b"x")
    for name in "abc":
        with pytest.raises(InputRefused):
            ArrayScan.open(tmp_path / f"{name}.npy", (1.0, 1.0))
    with pytest.raises(InputRefused, match="no such"):
        open_scan(tmp_path / "nothing", Opening())
    with pytest.raises(ConfigError, match="--pixel-mm"):
        open_scan(tmp_path / "a.npy", Opening())


@pytest.mark.parametrize("ending", [".npy", ".nii.gz"])
def test_a_mask_from_a_file(tmp_path: Path, ending: str) -> None:
    source = series(tmp_path / "in", (False, False))
    mask = np.zeros((2, 96, 96), np.uint8)
    mask[1, 50:54, 60:64] = 1
    path = tmp_path / f"mask{ending}"
    mask = mask == 1
    if ending == ".npy":
        np.save(path, mask)
    else:
        affine = np.diag([-2.0, -2.0, 3.0, 1.0])  # NIfTI counts from right to left and from front to back
        affine[:3, 3] = 95.0, 95.0, 0.0
        nifti(path, mask.transpose(2, 1, 0), affine, np.uint8)
    assert reduce(source, tmp_path / "out", "--mask", path).code == 0
    statuses = [one["status"] for one in report(tmp_path / "out")["slices"]]
    assert statuses == ["unchanged", "reduced"]
    with np.load(tmp_path / "out/maps/0002.npz") as maps:
        assert np.array_equal(maps["metal"], mask[1])
    np.save(tmp_path / "bad.npy", mask[:1])
    assert reduce(source, tmp_path / "no", "--mask", tmp_path / "bad.npy").code == 3


def test_a_nifti_mask_is_looked_up_in_the_patient(tmp_path: Path) -> None:
    """A patient on his belly: rows and columns run the other way, the mask lies where the metal lies."""
    prone = series(tmp_path / "in", (True, True), ImageOrientationPatient=[-1, 0, 0, 0, -1, 0],
                   ImagePositionPatient=[95, 95, 0])  # fmt: skip
    for n, file in enumerate(sorted(prone.iterdir())):
        dataset = pydicom.dcmread(file)
        dataset.ImagePositionPatient = [95, 95, 3 * n]
        dataset.save_as(file)
    metal = volume((True, True)) == 3071
    affine = np.diag([2.0, 2.0, 3.0, 1.0])
    affine[:3, 3] = -95.0, -95.0, 0.0
    nifti(tmp_path / "m.nii.gz", metal.transpose(2, 1, 0), affine, np.uint8)
    assert reduce(prone, tmp_path / "out", "--mask", tmp_path / "m.nii.gz").code == 0
    with np.load(tmp_path / "out/maps/0001.npz") as maps:
        assert np.array_equal(maps["metal"], metal[0])
    affine[:3, 3] = 900.0
    nifti(tmp_path / "far.nii.gz", metal.transpose(2, 1, 0), affine, np.uint8)
    assert "no metal" in reduce(prone, tmp_path / "far", "--mask", tmp_path / "far.nii.gz").text


def test_nifti_2(tmp_path: Path) -> None:
    image: Any = nibabel.Nifti2Image(np.moveaxis(volume(), 0, 2).astype(np.int16), np.diag([2.0, 2.0, 3.0, 1.0]))
    image.to_filename(tmp_path / "a.nii")
    assert reduce(tmp_path / "a.nii", tmp_path / "out").code == 0
    after = NiftiScan(tmp_path / "out/reduced.nii")
    assert np.array_equal(after.read(0).hu, NiftiScan(tmp_path / "a.nii").read(0).hu)
    assert b"not for diagnosis" in bytes(after.volume.header["descrip"])
