"""Write files so that a reader never sees half of one."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from acdnet.errors import ResourceError


def sha256(data: bytes) -> str:
    """Return the SHA-256 of some bytes as hexadecimal text."""
    return hashlib.sha256(data).hexdigest()


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to `path`: complete or not at all, an older file staying intact until then."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    except OSError as error:
        raise ResourceError(f"{path}: cannot write here ({error.strerror})") from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
        _sync_directory(path.parent)
    except OSError as error:
        raise ResourceError(f"{path}: cannot write ({error.strerror})") from error
    finally:
        temporary.unlink(missing_ok=True)


def _sync_directory(directory: Path) -> None:
    """Make a rename survive a power cut, where the system can do so."""
    if os.name == "nt":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
