"""Read untrusted files with limits, and write files atomically."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from acdnet.errors import InputRefused, PlaceTaken, ResourceError

_UMASK = os.umask(0o077)
"""The umask at import; it can only be read by setting it."""
os.umask(_UMASK)


def sha256(data: bytes) -> str:
    """Return the SHA-256 of bytes as hexadecimal text."""
    return hashlib.sha256(data).hexdigest()


def read_limited(path: Path, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes; refuse folders, pipes and larger files."""
    try:
        if path.is_dir():
            raise InputRefused(f"{path}: is a folder")
        if not path.is_file():
            raise InputRefused(f"{path}: no such file")
        with path.open("rb") as file:
            data = file.read(min(limit, os.fstat(file.fileno()).st_size) + 1)  # read() allocates its argument
    except OSError as error:
        raise InputRefused(f"{path}: cannot be read ({error.strerror})") from error
    if len(data) > limit:
        raise InputRefused(f"{path}: is larger than {limit:,} bytes, the limit for this file")
    return data


def leads_inside(path: Path, root: Path) -> bool:
    """Return False for a symbolic link to outside the folder `root`."""
    if not path.is_symlink():
        return True
    try:
        return path.resolve(strict=True).is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # a dangling or circular link
        return False


def check_writable(paths: list[Path], overwrite: bool) -> None:
    """Refuse output paths without a parent folder, and existing ones unless they may be overwritten."""
    for path in paths:
        try:
            if not path.parent.is_dir():
                raise InputRefused(f"{path.parent}: no such folder")
            if path.is_dir():
                raise InputRefused(f"{path}: is a folder")
            if path.exists() and not overwrite:
                raise InputRefused(f"{path}: already exists; choose another name, or overwrite it with --force")
        except OSError as error:
            raise InputRefused(f"{path.name[:40]}...: is not a valid file name ({error.strerror})") from error


def write_atomically(files: Mapping[Path, bytes]) -> None:
    """Write related files: all are complete on disk before the first replaces its predecessor."""
    staged: dict[Path, Path] = {}
    try:
        for path, data in files.items():
            staged[path] = _stage(path, data)
        for path, temporary in staged.items():
            temporary.replace(path)
            sync_folder(path.parent)
    except OSError as error:
        raise ResourceError(f"{path}: cannot write ({error.strerror})") from error
    finally:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder survive a power failure, where the system supports it."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Make all files of a folder survive a power failure, before the folder takes its final name."""
    for path in folder.rglob("*"):
        if path.is_dir():
            sync_folder(path)
        else:
            with path.open("rb+") as file:
                os.fsync(file.fileno())
    sync_folder(folder)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file against a second process; the operating system releases it when the process ends."""
    while True:
        try:
            file = path.open("a")
        except OSError as error:
            raise ResourceError(f"{path}: cannot write ({error.strerror})") from error
        if not _lock(file.fileno()):
            file.close()
            raise PlaceTaken(f"{path.parent}: another process is using this folder; wait until it has finished")
        if path.exists() and os.fstat(file.fileno()).st_ino == path.stat().st_ino:
            break
        file.close()  # the previous holder removed it in the meantime
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        file.close()


def _lock(handle: int) -> bool:
    """Lock an open file; return False if another process holds the lock."""
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
    """Write data to a temporary file in the same folder and sync it; remove it on failure."""
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
    """Return the umask without setting it, which would affect other threads."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("Umask:")[1].split()[0], 8)
    except (OSError, IndexError, ValueError):
        return _UMASK
