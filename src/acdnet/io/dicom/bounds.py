"""Bounds for what a DICOM file may cost: bytes, elements and nesting are limited before anything is derived."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from acdnet.errors import InputRefused

MAX_NESTING = 50
"""Sequences within sequences. Standard objects need fewer than 10; the work on deeper ones can grow exponentially."""
MAX_HEADER_BYTES = 32 * 2**20
"""All elements before the pixels. Those of CT slices have at most a few MB."""
MAX_READS = 200_000
"""Read operations for a header: about two per element or item."""
MAX_ITEMS = 20_000
"""Items of a sequence with those nested in it: each becomes an object of several kB."""
MAX_KEPT = 2**16
"""Bytes of an element that is kept with the header; longer ones are of no use without the pixels."""
ITEM = b"\xfe\xff\x00\xe0"


class HeaderFile(io.BufferedReader):
    """A file that lets only a header of limited size be read, even if its elements claim more."""

    def __init__(self, file: Path) -> None:
        super().__init__(io.FileIO(file))
        self.file, self.left, self.reads = file, MAX_HEADER_BYTES, 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Read at most what is left of the header; only deflated files are read without a size."""
        if size is None or size < 0:
            raise InputRefused(
                f"{self.file}: is deflated (TransferSyntaxUID); convert it to an uncompressed transfer syntax"
            )
        self.left, self.reads = self.left - size, self.reads + 1
        if self.left < 0:
            raise InputRefused(f"{self.file}: an element before the pixels claims more than {MAX_HEADER_BYTES:,} bytes")
        if self.reads > MAX_READS:
            raise InputRefused(f"{self.file}: its header has too many elements")
        return super().read(size)


@contextmanager
def readable(file: Path) -> Iterator[None]:
    """Turn any exception from malformed tags or pixels into a refusal."""
    try:
        yield
    except (InputRefused, MemoryError):
        raise
    except (Exception, RecursionError) as error:
        raise InputRefused(f"{file}: tags cannot be read ({type(error).__name__})") from error


def check_nesting(dataset: Any, file: Path, after: int = 0) -> None:
    """Refuse sequences that are too long, too deep or broken; only those with a tag from `after` on are checked."""
    level = [(dataset, [tag for tag in dataset.keys() if tag >= after])]  # noqa: SIM118 iterating would parse values
    for _ in range(MAX_NESTING + 1):
        items = [
            item for one, tags in level for tag in tags if _is_sequence(one, tag) for item in _items(one, tag, file)
        ]
        if not items:
            return
        level = [(item, list(item.keys())) for item in items]
    raise InputRefused(f"{file}: its sequences are nested more than {MAX_NESTING} deep")


def shorten(header: Any) -> None:
    """Remove long elements from a header that is kept for its short ones."""
    for tag in list(header.keys()):
        element = header.get_item(tag)
        if getattr(element, "is_raw", False) and len(element.value or b"") > MAX_KEPT:
            del header[tag]


def _items(dataset: Any, tag: Any, file: Path) -> Any:
    value = dataset.get_item(tag).value
    if isinstance(value, bytes) and value.count(ITEM) > MAX_ITEMS:
        raise InputRefused(f"{file}: a sequence has more than {MAX_ITEMS:,} items")
    with readable(file):
        return dataset[tag].value or ()


def _is_sequence(dataset: Any, tag: Any) -> bool:
    """Return whether pydicom reads an element as a sequence, without reading it."""
    from pydicom.datadict import dictionary_VR

    vr = dataset.get_item(tag).VR
    if vr not in (None, "UN"):
        return bool(vr == "SQ")
    try:
        return bool(dictionary_VR(tag) == "SQ")
    except KeyError:
        return False
