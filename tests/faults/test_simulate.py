"""Bad input to `acdnet simulate`: one clear line, the right exit code, nothing half-written."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
from PIL import Image

from tests.data.make import one_process
from tests.io.dicom.make import write_slice
from tests.reduction.make import run

BODY = np.full((128, 128), -1000, np.int16)
BODY[30:100, 20:110] = 40


@pytest.fixture(autouse=True)
def in_this_process() -> Iterator[None]:
    with one_process():
        yield


def refused(source: Path | str, out: Path, code: int, word: str, *options: object) -> None:
    done = run("simulate", source, out, *options)
    assert done.code == code, done.text
    assert word in done.text
    assert not (out / "manifest.json").exists()
    assert not list(out.glob("**/*.safetensors"))
    assert not list(out.glob("**/*.partial"))


def png(folder: Path, hu: np.ndarray[Any, Any], pixel: str = "0.9") -> Path:
    folder.mkdir()
    Image.fromarray((hu.astype(np.int32) + 32768).astype(np.uint16)).save(folder / "a.png")
    (folder / "index.csv").write_text(f"file,patient,split,pixel_mm\na.png,p,train,{pixel}\n")
    return folder


@pytest.mark.parametrize(
    ("tags", "word"),
    [({"SOPClassUID": "1.2.840.10008.5.1.4.1.1.4"}, "no CT slice"), ({"PixelSpacing": None}, "PixelSpacing")],
    ids=["not CT", "no pixel size"],
)
def test_unusable_dicom(tmp_path: Path, tags: dict[str, object], word: str) -> None:
    (tmp_path / "in").mkdir()
    write_slice(tmp_path / "in/a.dcm", BODY, **tags)
    refused(tmp_path / "in", tmp_path / "out", 3, word, "--size", 64)


@pytest.mark.parametrize(
    ("hu", "pixel", "word"), [(np.full_like(BODY, -1000), "0.9", "no body found"), (BODY, "", "pixel size")]
)
def test_unusable_pictures(tmp_path: Path, hu: np.ndarray[Any, Any], pixel: str, word: str) -> None:
    refused(png(tmp_path / "in", hu, pixel), tmp_path / "out", 3, word, "--size", 64)


def test_nan_in_a_volume(tmp_path: Path) -> None:
    volume = np.repeat(BODY.astype(np.float32)[..., None], 2, 2)
    volume[50, 50, 1] = np.nan
    nibabel.save(nibabel.Nifti1Image(volume, np.eye(4)), tmp_path / "a.nii")
    options = ("--size", 64, "--workers", 1)
    done = run("simulate", tmp_path / "a.nii", tmp_path / "out", *options)
    assert done.code == 3
    assert "not finite" in done.text
    assert not (tmp_path / "out/manifest.json").exists()
    again = run("simulate", tmp_path / "a.nii", tmp_path / "out", *options, "--skip-bad")
    assert again.code == 4
    assert "skipped" in again.text
    assert (tmp_path / "out/manifest.json").exists()


def test_mask_outside_the_image(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.zeros((64, 64), np.uint8))
    options = ("--masks", tmp_path / "m.npy", "--pairs", 1)
    refused(png(tmp_path / "in", BODY), tmp_path / "out", 3, "has no shape", *options)


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("--protocol", "x", "protocol"),
        ("--pairs", "0", "pairs"),
        ("--implants", "knee", "knee"),
        ("--split", "no", "split"),
    ],
)
def test_impossible_options(tmp_path: Path, option: str, value: str, word: str) -> None:
    refused("phantom", tmp_path / "out", 3 if option == "--split" else 2, word, "--slices", 1, option, value)


def test_f45_a_full_disk(tmp_path: Path) -> None:
    """A tiny file system, where one can be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = [shutil.which("mount") or "false", "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        refused("phantom", disk / "out", 5, "cannot write", "--slices", 1, "--size", 128, "--workers", 1)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_the_source_is_not_written_to(tmp_path: Path) -> None:
    source = png(tmp_path / "in", BODY)
    assert run("simulate", source, source).code == 3
    assert sorted(path.name for path in source.iterdir()) == ["a.png", "index.csv"]
