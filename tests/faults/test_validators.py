"""What independent programs say about the files we write."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.reduction.make import reduce, series

DEBIAN = "dicom3tools"


@pytest.fixture(scope="session")
def validators() -> None:
    """Find dciodvfy and dcentvfy, or install them where that is allowed and quick."""
    if shutil.which("dciodvfy") and shutil.which("dcentvfy"):
        return
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        command = ["apt-get", "install", "-y", "--no-install-recommends", DEBIAN]
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        try:
            subprocess.run(command, capture_output=True, timeout=90, check=False, env=environment)
        except subprocess.TimeoutExpired:
            pytest.skip(f"installing {DEBIAN} takes too long here")
    if not shutil.which("dciodvfy"):
        pytest.skip(f"dciodvfy is not here and cannot be installed ({DEBIAN} of Debian has it)")


def errors(file: Path) -> set[str]:
    """Return the errors of a file; the exit code of the program does not tell."""
    done = subprocess.run(["dciodvfy", str(file)], capture_output=True, text=True, check=False, errors="replace")
    return {line for line in (done.stdout + done.stderr).splitlines() if line.startswith("Error")}


@pytest.mark.usefixtures("validators")
def test_f40_dciodvfy_finds_nothing_that_the_source_does_not_have(tmp_path: Path) -> None:
    source = series(tmp_path / "in")
    assert reduce(source, tmp_path / "out").code == 0
    for kind in ("reduced", "difference"):
        for n in (1, 2):
            assert errors(tmp_path / f"out/{kind}/{n:04d}.dcm") <= errors(source / f"IM{n:04d}.dcm")


@pytest.mark.usefixtures("validators")
def test_f40_dcentvfy_finds_source_and_result_consistent(tmp_path: Path) -> None:
    source = series(tmp_path / "in")
    assert reduce(source, tmp_path / "out").code == 0
    files = [str(path) for path in (*sorted(source.iterdir()), *sorted((tmp_path / "out").rglob("*.dcm")))]
    done = subprocess.run(["dcentvfy", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stdout + done.stderr
