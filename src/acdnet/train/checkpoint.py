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

LAST, PREVIOUS = "last.ckpt", "previous.ckpt"
DIGEST_BYTES = 32


def save_checkpoint(folder: Path, state: dict[str, Any]) -> None:
    """Write a checkpoint; the one before it is kept as `previous`."""
    buffer = BytesIO()
    torch.save(state, buffer)
    data = buffer.getvalue()
    last = folder / LAST
    if last.exists():
        last.replace(folder / PREVIOUS)  # a kill right here leaves `previous`, which is found as well
    write_atomically({last: hashlib.sha256(data).digest() + data})


def load_checkpoint(folder: Path) -> tuple[dict[str, Any], str | None]:
    """Read the newest checkpoint that is whole; say what was wrong with a newer one."""
    problem = None
    for name in (LAST, PREVIOUS):
        path = folder / name
        if not path.exists():
            continue
        data = path.read_bytes()
        if hashlib.sha256(data[DIGEST_BYTES:]).digest() == data[:DIGEST_BYTES]:
            state: dict[str, Any] = torch.load(BytesIO(data[DIGEST_BYTES:]), map_location="cpu", weights_only=True)
            return state, problem
        problem = f"{path}: is damaged; going on from {PREVIOUS}"
    if problem:
        raise InputRefused(f"{folder}: no checkpoint of the run can be read")
    raise InputRefused(f"{folder}: holds no checkpoint ({LAST}); nothing to resume")


def has_checkpoint(folder: Path) -> bool:
    """Tell whether a run was begun in a folder."""
    return any((folder / name).exists() for name in (LAST, PREVIOUS))
