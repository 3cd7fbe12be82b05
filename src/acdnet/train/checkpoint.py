"""Checkpoints: everything a run needs to go on, the last two of them, never half a file.

A file is the SHA-256 of what follows, then what torch writes. Damage is noticed before anything is unpacked.
"""

from __future__ import annotations

import hashlib
from io import BytesIO
from pathlib import Path
from typing import Any

import torch

from acdnet.errors import InputRefused
from acdnet.files import write_atomically

LAST, PREVIOUS, NEW = "last.ckpt", "previous.ckpt", "new.ckpt"
DIGEST_BYTES = 32


def save_checkpoint(folder: Path, state: dict[str, Any]) -> None:
    """Write a checkpoint; the one before it is kept as `previous`."""
    buffer = BytesIO()
    torch.save(state, buffer)
    data = buffer.getvalue()
    new = folder / NEW
    write_atomically({new: hashlib.sha256(data).digest() + data})  # a full disk stops here, and nothing is lost
    if _read(folder / LAST) is not None:  # what is damaged does not take the place of what is whole
        (folder / LAST).replace(folder / PREVIOUS)
    new.replace(folder / LAST)


def load_checkpoint(folder: Path) -> tuple[dict[str, Any], str | None]:
    """Read the newest checkpoint that is whole; say what was wrong with a newer one."""
    problem = None
    for name in (NEW, LAST, PREVIOUS):
        path = folder / name
        if not path.exists():
            continue
        if (data := _read(path)) is not None:
            state: dict[str, Any] = torch.load(BytesIO(data), map_location="cpu", weights_only=True)
            return state, problem
        problem = f"{path}: is damaged; going on from {PREVIOUS}"
    if problem:
        raise InputRefused(f"{folder}: no checkpoint of the run can be read")
    raise InputRefused(f"{folder}: holds no checkpoint ({LAST}); nothing to resume")


def _read(path: Path) -> bytes | None:
    """Return what torch wrote, or None where there is no file or not the one that was written."""
    data = path.read_bytes() if path.exists() else b""
    return data[DIGEST_BYTES:] if hashlib.sha256(data[DIGEST_BYTES:]).digest() == data[:DIGEST_BYTES] else None


def has_checkpoint(folder: Path) -> bool:
    """Tell whether a run was begun in a folder."""
    return any((folder / name).exists() for name in (NEW, LAST, PREVIOUS))
