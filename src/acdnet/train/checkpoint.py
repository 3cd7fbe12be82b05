"""Checkpoints: the complete state of a run. The last two are kept; files are written atomically.

A file holds the SHA-256 of its content, then the content as torch writes it. The hash is checked before unpacking.
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
    """Write a checkpoint and keep the one before it as `previous`."""
    buffer = BytesIO()
    torch.save(state, buffer)
    data = buffer.getvalue()
    new = folder / NEW
    write_atomically({new: hashlib.sha256(data).digest() + data})  # a full disk stops here, before anything is lost
    if _read(folder / LAST) is not None:  # a damaged file does not replace an intact one
        (folder / LAST).replace(folder / PREVIOUS)
    new.replace(folder / LAST)


def load_checkpoint(folder: Path) -> tuple[dict[str, Any], str | None]:
    """Read the newest intact checkpoint; return it, and what was wrong with a newer one."""
    damaged = ""
    for name in (NEW, LAST, PREVIOUS):
        path = folder / name
        if not path.exists():
            continue
        if (data := _read(path)) is not None:
            state: dict[str, Any] = torch.load(BytesIO(data), map_location="cpu", weights_only=True)
            return state, f"{folder / damaged}: is damaged; continuing from {name}" if damaged else None
        damaged = damaged or name
    if damaged:
        raise InputRefused(f"{folder}: all checkpoints are damaged; start again in another folder")
    raise InputRefused(f"{folder}: contains no checkpoint ({LAST}); nothing to resume")


def _read(path: Path) -> bytes | None:
    """Return the content of a checkpoint; None if the file is missing or damaged."""
    data = path.read_bytes() if path.exists() else b""
    return data[DIGEST_BYTES:] if hashlib.sha256(data[DIGEST_BYTES:]).digest() == data[:DIGEST_BYTES] else None


def has_checkpoint(folder: Path) -> bool:
    """Tell whether a folder contains a run."""
    return any((folder / name).exists() for name in (NEW, LAST, PREVIOUS))
