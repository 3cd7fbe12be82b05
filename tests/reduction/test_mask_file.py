"""Masks that `acdnet mask` writes are those that `acdnet reduce --mask` reads."""

from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

from acdnet.io.open import Opening, open_scan
from acdnet.reduction.masks import read_mask
from tests.reduction.make import SIZE, run, series, volume

GROWN = ("--segmentation", "grown")
SHAPES = [(SIZE, SIZE)] * 3


@pytest.mark.parametrize("name", ["mask.npy", "mask.nii", "mask.nii.gz"])
def test_a_mask_of_a_series_is_read_again(name: str, tmp_path: Path) -> None:
    scan = series(tmp_path / "scan")
    done = run("mask", scan, tmp_path / name, *GROWN)
    assert done.code == 0, done.text
    assert "3 slices, 2 with metal" in done.text
    masks = read_mask(tmp_path / name, open_scan(scan, Opening()), SHAPES)
    expected = volume() > 2500
    assert [np.array_equal(one, wanted) for one, wanted in zip(masks, expected, strict=True)] == [True] * 3


def test_a_mask_of_a_volume_has_its_axes(tmp_path: Path) -> None:
    affine = np.diag([-2.0, 2.0, 3.0, 1.0])
    hu = volume().transpose(2, 1, 0).astype(np.int16)
    nibabel.Nifti1Image(hu, affine).to_filename(tmp_path / "scan.nii")
    assert run("mask", tmp_path / "scan.nii", tmp_path / "mask.nii", *GROWN).code == 0
    made: Any = nibabel.load(tmp_path / "mask.nii")
    assert np.array_equal(made.affine, affine)
    assert np.array_equal(np.asarray(made.dataobj) > 0, hu > 2500)


@pytest.mark.parametrize(("name", "says", "code"), [("mask.txt", "must end in", 2), ("mask.nii", "has no position", 3)])
def test_what_cannot_be_written_is_refused(name: str, says: str, code: int, tmp_path: Path) -> None:
    np.save(tmp_path / "scan.npy", volume())
    done = run("mask", tmp_path / "scan.npy", tmp_path / name, "--pixel-mm", 2, *GROWN)
    assert done.code == code
    assert says in done.text
    assert not (tmp_path / name).exists()


def test_a_mask_is_not_overwritten(tmp_path: Path) -> None:
    scan, out = series(tmp_path / "scan"), tmp_path / "mask.npy"
    out.write_bytes(b"mine")
    assert run("mask", scan, out, *GROWN).code == 3
    assert out.read_bytes() == b"mine"
    assert run("mask", scan, out, *GROWN, "--force").code == 0
    assert np.load(out).sum() > 0
