"""Where a result goes: a new folder, grown beside it under another name, and nothing of anybody else."""

from __future__ import annotations

import shutil
from pathlib import Path

from acdnet.errors import InputRefused, ResourceError

MARK = ".acdnet-partial"
"""A file that tells our folders from others."""


def partial_of(out: Path) -> Path:
    """Return the folder that a result grows in."""
    return out.parent / f".{out.name}.partial"


def check_output(source: Path, out: Path) -> None:
    """Refuse an output that would touch the input, or what is there already."""
    if out == Path.cwd():
        raise InputRefused(f"{out}: is the current folder; name a new one")
    if out.is_symlink():
        raise InputRefused(f"{out}: is a link; links are not followed")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputRefused(f"{out}: exists already and is not an empty folder; choose another")
    origin, target = source.resolve(), out.resolve()
    if origin.is_dir() and target.is_relative_to(origin):
        raise InputRefused(f"{out}: lies in the input folder; choose another place")
    if not out.parent.exists():
        raise InputRefused(f"{out.parent}: no such folder")


def claim(partial: Path) -> Path:
    """Make the folder that a result grows in, or find that of an earlier run; what is not ours is not touched."""
    if partial.is_symlink() or (partial.exists() and not partial.is_dir()):
        raise InputRefused(f"{partial}: is in the way; it is where the result would grow")
    if partial.exists() and not (partial / MARK).exists() and any(partial.iterdir()):
        raise InputRefused(f"{partial}: is not a folder of an earlier run, and it is in the way")
    try:
        partial.mkdir(parents=True, exist_ok=True)
        (partial / MARK).touch()
    except OSError as error:
        raise ResourceError(f"{partial}: cannot be made ({error.strerror})") from error
    return partial


def leave(partial: Path) -> None:
    """Remove the folder if nothing was begun in it."""
    if partial.is_dir() and {path.name for path in partial.iterdir()} <= {MARK}:
        shutil.rmtree(partial, ignore_errors=True)
