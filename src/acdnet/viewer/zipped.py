"""A folder as a ZIP file that is made while it is sent, so that memory does not grow with it."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

PART = 2**20


class _Pipe:
    """A file that can only be written, and is emptied from time to time."""

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
    """Yield the bytes of a ZIP file of everything below a folder; images are stored as they are."""
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:  # type: ignore[call-overload]
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            with (
                archive.open(str(path.relative_to(folder)), "w", force_zip64=True) as target,
                path.open("rb") as source,
            ):
                while part := source.read(PART):
                    target.write(part)
                    yield pipe.take()
            yield pipe.take()
    yield pipe.take()
