"""Read arrays from .npy files that may be damaged: the header is checked against the file before numpy allocates."""

from __future__ import annotations

import math
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused
from acdnet.messages import quoted

MAGIC = b"\x93NUMPY"
MAX_HEADER = 4096
"""Bytes of a header; that of an array of numbers has about 100."""
MAX_START = MAX_HEADER + 12
"""With what comes before it: signature, version, and a length of two or four bytes."""


def map_array(path: Path, limit: int) -> NDArray[Any]:
    """Return the numbers of a .npy file of at most `limit` bytes as a memory map."""
    try:
        with path.open("rb") as file:
            if file.read(6) != MAGIC:
                raise InputRefused(f"{path}: is not a readable .npy file (the file signature is wrong)")
            size = path.stat().st_size
            if size > limit:
                raise InputRefused(f"{path}: is larger than {limit:,} bytes, the limit for arrays")
            file.seek(0)
            shape, kind, start = _parsed(file.read(MAX_START))
            if kind.hasobject or kind.kind not in "biuf":
                raise InputRefused(f"{path}: contains {quoted(kind)}; an array of numbers is needed")
            claimed = start + math.prod(shape) * kind.itemsize
            if min(shape, default=1) < 0 or claimed > size:
                raise InputRefused(f"{path}: claims an array of shape {quoted(shape)}, but has {size:,} bytes")
        array: NDArray[Any] = np.load(path, mmap_mode="r" if math.prod(shape) else None, allow_pickle=False)
        return array
    except (InputRefused, MemoryError):
        raise
    except (Exception, RecursionError) as error:
        raise InputRefused(f"{path}: is not a readable .npy file ({type(error).__name__}: {quoted(error)})") from error


def _parsed(start: bytes) -> tuple[tuple[int, ...], Any, int]:
    """Return shape, type and offset of an array from the start of its file; a longer header is not read."""
    file = BytesIO(start)
    version = np.lib.format.read_magic(file)
    bytes_of_length = 2 if version == (1, 0) else 4
    length = int.from_bytes(start[file.tell() : file.tell() + bytes_of_length], "little")
    if length > MAX_HEADER:
        raise ValueError(f"its header claims {length:,} bytes")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, kind = read(file, max_header_size=MAX_HEADER)
    return shape, kind, file.tell()
