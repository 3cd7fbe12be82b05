"""Stream a folder as a ZIP file; memory use does not depend on the size of the folder."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

CHUNK_BYTES = 2**20


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


def zip_stream(folder: Path) -> Iterator[bytes]:
    """Yield the bytes of a ZIP file of all files in a folder, uncompressed."""
    buffer = _Buffer()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:  # type: ignore[call-overload]
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            with (
                archive.open(str(path.relative_to(folder)), "w", force_zip64=True) as target,
                path.open("rb") as source,
            ):
                while chunk := source.read(CHUNK_BYTES):
                    target.write(chunk)
                    yield buffer.take()
            yield buffer.take()
    yield buffer.take()
