"""Stream a folder as a ZIP file; memory use does not depend on the size of the folder."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

CHUNK_BYTES = 2**20
FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class _Buffer:
    """A write-only file that is emptied after every chunk."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.position = 0

    def write(self, data: bytes) -> int:
        self.parts.append(bytes(data))
        self.position += len(data)
        return len(data)

    def tell(self) -> int:
        return self.position

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        data, self.parts = b"".join(self.parts), []
        return data


def _open(path: Path) -> IO[bytes]:
    """Open a file, but no link that has replaced it in the meantime."""
    return os.fdopen(os.open(path, FLAGS), "rb")


def zip_stream(folder: Path) -> Iterator[bytes]:
    """Yield the bytes of a ZIP file of all files in a folder, uncompressed."""
    buffer = _Buffer()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:  # type: ignore[call-overload]
        for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
            name = str(path.relative_to(folder)).encode(errors="replace").decode()
            with archive.open(name, "w", force_zip64=True) as target, _open(path) as source:
                while chunk := source.read(CHUNK_BYTES):
                    target.write(chunk)
                    yield buffer.take()
            yield buffer.take()
    yield buffer.take()
