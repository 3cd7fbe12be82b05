"""What independent programs say about the files we write."""

import subprocess
from pathlib import Path

from tests.helpers import install
from tests.reduction.make import reduce, series

NEWER_THAN_THE_PROGRAM = tuple(f"not a recognized standard attribute - (0x0018,0x939{n})  ? " for n in range(3))
"""Tags of DICOM 2026b, which Debian's dciodvfy does not know."""


def errors(file: Path) -> set[str]:
    """Return the errors of a file; the exit code of the program does not depend on them."""
    done = subprocess.run(["dciodvfy", str(file)], capture_output=True, text=True, check=False, errors="replace")
    lines = (done.stdout + done.stderr).splitlines()
    return {line for line in lines if line.startswith("Error") and not line.endswith(NEWER_THAN_THE_PROGRAM)}


def test_f40_dciodvfy_and_dcentvfy_find_nothing_new(tmp_path: Path) -> None:
    for program in ("dciodvfy", "dcentvfy"):
        install(program, "dicom3tools")
    source = series(tmp_path / "in")
    assert reduce(source, tmp_path / "out").code == 0
    for kind in ("reduced", "difference"):
        for n in (1, 2):
            assert errors(tmp_path / f"out/{kind}/{n:04d}.dcm") <= errors(source / f"IM{n:04d}.dcm")
    files = [str(path) for path in (*sorted(source.iterdir()), *sorted((tmp_path / "out").rglob("*.dcm")))]
    done = subprocess.run(["dcentvfy", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stdout + done.stderr
