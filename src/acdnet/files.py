"""Read files that may be hostile, and write files so that a reader never sees half of one."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from acdnet.errors import InputRefused, PlaceTaken, ResourceError

_UMASK = os.umask(0o077)
"""The permissions that new files of this process do not get; read at the start, since reading it sets it."""
os.umask(_UMASK)


def sha256(data: bytes) -> str:
    """Return the SHA-256 of some bytes as hexadecimal text."""
    return hashlib.sha256(data).hexdigest()


def read_limited(path: Path, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes; anything else (a folder, a pipe, a larger file) is refused."""
    try:
        if path.is_dir():
            raise InputRefused(f"{path}: is a folder")
        if not path.is_file():
            raise InputRefused(f"{path}: no such file")
        with path.open("rb") as file:
            data = file.read(min(limit, os.fstat(file.fileno()).st_size) + 1)  # room is made for all that is asked for
    except OSError as error:
        raise InputRefused(f"{path}: cannot be read ({error.strerror})") from error
    if len(data) > limit:
        raise InputRefused(f"{path}: larger than {limit:,} bytes, the most that is read here")
    return data


def leads_inside(path: Path, root: Path) -> bool:
    """Tell whether a path is what it seems or a link to something in the folder `root`."""
    if not path.is_symlink():
        return True
    try:
        return path.resolve(strict=True).is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # nowhere, or in a circle
        return False


def check_writable(paths: list[Path], overwrite: bool) -> None:
    """Refuse to write where there is no folder, where a folder is, or where a file is that may not be overwritten."""
    for path in paths:
        try:
            if not path.parent.is_dir():
                raise InputRefused(f"{path.parent}: no such folder")
            if path.is_dir():
                raise InputRefused(f"{path}: is a folder")
            if path.exists() and not overwrite:
                raise InputRefused(f"{path}: exists already; choose another name, or overwrite it (--force)")
        except OSError as error:
            raise InputRefused(f"{path.name[:40]}...: no name for a file ({error.strerror})") from error


def write_atomically(files: Mapping[Path, bytes]) -> None:
    """Write files that belong together: all are complete before the first takes its place."""
    staged: dict[Path, Path] = {}
    try:
        for path, data in files.items():
            staged[path] = _stage(path, data)
        for path, temporary in staged.items():
            temporary.replace(path)
            _sync_directory(path.parent)
    except OSError as error:
        raise ResourceError(f"{path}: cannot write ({error.strerror})") from error
    finally:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file, so that a second process does not write to the same place; it ends with the process."""
    while True:
        try:
            file = path.open("a")
        except OSError as error:
            raise ResourceError(f"{path}: cannot write ({error.strerror})") from error
        if not _lock(file.fileno()):
            file.close()
            raise PlaceTaken(f"{path.parent}: another process is writing there")
        if path.exists() and os.fstat(file.fileno()).st_ino == path.stat().st_ino:
            break
        file.close()  # whoever held it before removed it meanwhile
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        file.close()


def _lock(handle: int) -> bool:
    """Take a lock on an open file, or say that somebody has it."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _stage(path: Path, data: bytes) -> Path:
    """Write data to a new file beside its place, safely on disk; remove it when that fails."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _umask() -> int:
    """Return the permissions that new files do not get, without setting them: other threads write files, too."""
    try:
        told = Path("/proc/self/status").read_text()
        return int(told.split("Umask:")[1].split()[0], 8)
    except (OSError, IndexError, ValueError):
        return _UMASK


def _sync_directory(directory: Path) -> None:
    """Make a rename survive a power cut, where the system can do so."""
    if os.name == "nt":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
