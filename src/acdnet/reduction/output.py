"""The output folder: checked before the work, written under a temporary name, never overwriting other files."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from acdnet.errors import InputRefused, ResourceError
from acdnet.files import sync_folder, sync_tree

MARK = ".acdnet-partial"
"""Marker file of folders created by this program."""
INSIDE = ".acdnet-result"
"""The temporary folder inside a mount."""
OUTPUT = re.compile(r"(reduced|difference)(\.nii(\.gz)?|\.npy)?|maps|report\.(html|json)")
"""Names of files and folders of a result."""


def partial_of(out: Path) -> Path:
    """Return the temporary folder of a result: next to it, or inside it if only that can be written."""
    inside = out.is_mount() or (out.is_dir() and not os.access(out.parent, os.W_OK))
    return out / INSIDE if inside else out.parent / f".{out.name}.partial"


def check_output(source: Path, out: Path) -> None:
    """Refuse an output path inside the input, or one that is already in use."""
    if out == Path.cwd():
        raise InputRefused(f"{out}: is the current folder; choose a new one")
    if out.is_symlink():
        raise InputRefused(f"{out}: is a symbolic link; choose another folder")
    if out.exists() and (not out.is_dir() or _is_used(out)):
        raise InputRefused(f"{out}: already exists and is not an empty folder; choose another")
    origin, target = source.resolve(), out.resolve()
    if origin.is_dir() and target.is_relative_to(origin):
        raise InputRefused(f"{out}: is inside the input folder; choose another place")
    if not out.parent.exists():
        raise InputRefused(f"{out.parent}: no such folder")


def _is_used(out: Path) -> bool:
    """Return whether a folder holds more than what an interrupted run left in a mount."""
    names = {path.name for path in out.iterdir()}
    if not (out / INSIDE / MARK).exists():
        return bool(names)
    return not all(OUTPUT.fullmatch(name) or name == INSIDE for name in names)


def publish(result: Path, out: Path) -> None:
    """Give a complete folder its final name, after everything in it is on the disk."""
    sync_tree(result)
    if partial_of(out).parent == out:
        for path in sorted(result.iterdir()):  # the report is the last
            remove(out / path.name)
            path.replace(out / path.name)
        sync_folder(out)
        return
    if out.exists():
        out.rmdir()
    result.replace(out)
    sync_folder(out.parent)


def remove(path: Path) -> None:
    """Remove a file or a folder, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def claim(partial: Path) -> Path:
    """Create the temporary folder of a result, or reuse that of an earlier run; refuse foreign files."""
    if partial.is_symlink() or (partial.exists() and not partial.is_dir()):
        raise InputRefused(f"{partial}: is not a folder; remove it, since the temporary result needs this name")
    if partial.exists() and not (partial / MARK).exists() and any(partial.iterdir()):
        raise InputRefused(
            f"{partial}: was not created by acdnet; remove it, since the temporary result needs this name"
        )
    try:
        partial.mkdir(parents=True, exist_ok=True)
        (partial / MARK).touch()
    except OSError as error:
        raise ResourceError(f"{partial}: cannot be created ({error.strerror})") from error
    return partial


def remove_if_unused(partial: Path) -> None:
    """Remove the temporary folder if it contains no work."""
    if partial.is_dir() and {path.name for path in partial.iterdir()} <= {MARK}:
        shutil.rmtree(partial, ignore_errors=True)
