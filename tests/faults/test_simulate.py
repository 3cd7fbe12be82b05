"""Bad input to `acdnet simulate`: one clear line, the right exit code, nothing half-written."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.io.dicom.make import write_slice

BODY = np.full((128, 128), -1000, np.int16)
BODY[30:100, 20:110] = 40


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "acdnet", "simulate", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def refused(done: subprocess.CompletedProcess[str], out: Path, code: int, *words: str) -> None:
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith("acdnet: ")
    for word in words:
        assert word in line
    assert not (out / "manifest.json").exists()
    assert not list(out.glob("**/*.safetensors"))
    assert not list(out.glob("**/*.partial"))


def png(folder: Path, hu: np.ndarray[tuple[int, int], np.dtype[np.int16]], pixel: str = "0.9") -> Path:
    folder.mkdir(exist_ok=True)
    Image.fromarray((hu.astype(np.int32) + 32768).astype(np.uint16)).save(folder / "a.png")
    (folder / "index.csv").write_text(f"file,patient,split,pixel_mm\na.png,p,train,{pixel}\n")
    return folder


@pytest.mark.parametrize(
    ("tags", "word"),
    [({"SOPClassUID": "1.2.840.10008.5.1.4.1.1.4"}, "no CT slice"), ({"PixelSpacing": None}, "PixelSpacing")],
    ids=["not CT", "no pixel size"],
)
def test_dicom_that_cannot_be_used(tmp_path: Path, tags: dict[str, object], word: str) -> None:
    (tmp_path / "in").mkdir()
    write_slice(tmp_path / "in/a.dcm", BODY, **tags)
    refused(run(tmp_path / "in", tmp_path / "out", "--size", 64), tmp_path / "out", 3, word)


def test_nan_in_a_volume(tmp_path: Path) -> None:
    import nibabel

    volume = np.repeat(BODY.astype(np.float32)[..., None], 2, 2)
    volume[50, 50, 1] = np.nan
    nibabel.save(nibabel.Nifti1Image(volume, np.eye(4)), tmp_path / "a.nii")
    done = run(tmp_path / "a.nii", tmp_path / "out", "--size", 64, "--workers", 1)
    assert done.returncode == 3
    assert "not finite" in done.stderr
    assert not (tmp_path / "out/manifest.json").exists()
    again = run(tmp_path / "a.nii", tmp_path / "out", "--size", 64, "--workers", 1, "--skip-bad")
    assert again.returncode == 4
    assert "skipped" in again.stderr
    assert (tmp_path / "out/manifest.json").exists()


def test_no_body(tmp_path: Path) -> None:
    source = png(tmp_path / "in", np.full((64, 64), -1000, np.int16))
    refused(run(source, tmp_path / "out", "--size", 64), tmp_path / "out", 3, "no body found", "a")


def test_no_pixel_size_in_an_index(tmp_path: Path) -> None:
    refused(run(png(tmp_path / "in", BODY, ""), tmp_path / "out"), tmp_path / "out", 3, "pixel size")


def test_mask_outside_the_image(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.zeros((64, 64), np.uint8))
    done = run(png(tmp_path / "in", BODY), tmp_path / "out", "--masks", tmp_path / "m.npy", "--pairs", 1)
    refused(done, tmp_path / "out", 3, "no shape in it")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--protocol", "x"), "protocol"),
        (("--pairs", "0"), "pairs"),
        (("--implants", "knee"), "knee"),
        (("--split", "no"), "split"),
    ],
)
def test_impossible_options(tmp_path: Path, options: tuple[str, str], word: str) -> None:
    done = run("phantom", tmp_path / "out", "--slices", 1, *options)
    refused(done, tmp_path / "out", 3 if "--split" in options else 2, word)


def test_f45_a_full_disk(tmp_path: Path) -> None:
    """A tiny file system, where one may be mounted; elsewhere a folder that cannot be written."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    mounted = (
        mount is not None
        and not subprocess.run(
            [mount, "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(disk)], capture_output=True, check=False
        ).returncode
    )
    if not mounted:
        pytest.skip("no file system can be mounted here")
    try:
        done = run("phantom", disk / "out", "--slices", 1, "--size", 128, "--workers", 1)
        refused(done, disk / "out", 5, "cannot write")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_the_source_is_not_written_to(tmp_path: Path) -> None:
    source = png(tmp_path / "in", BODY)
    done = run(source, source)
    assert done.returncode == 3
    assert sorted(path.name for path in source.iterdir()) == ["a.png", "index.csv"]
