"""Files on disk that may have been cut off, changed or made up: read them with limits, or say what is wrong."""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused
from acdnet.files import read_limited


def read_json(path: Path, limit: int) -> Any:
    """Read a JSON file whose numbers are finite."""
    try:
        return json.loads(read_limited(path, limit), parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise InputRefused(f"{path}: is not JSON ({error})") from error


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.20} is no number")
    return number


def load_arrays(path: Path, limit: int) -> dict[str, NDArray[Any]]:
    """Read an .npz file whole, if it does not unpack to more than `limit` bytes."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > limit:
            raise InputRefused(f"{path}: unpacks to more than {limit:,} bytes, the most that is read here")
        with np.load(path, allow_pickle=False) as arrays:
            found = dict(arrays)
        if not all(isinstance(array, np.ndarray) for array in found.values()):
            raise InputRefused(f"{path}: cannot be read (it holds more than arrays)")
        return found
    except InputRefused:
        raise
    except Exception as error:
        raise InputRefused(f"{path}: cannot be read ({type(error).__name__})") from error


def check_image(values: NDArray[Any] | None, shape: tuple[int, ...], what: str) -> NDArray[Any]:
    """Return an array of numbers if it has the shape it should have."""
    if values is None:
        raise InputRefused(f"{what} is missing")
    if values.shape != shape or values.dtype.kind not in "biuf":
        raise InputRefused(f"{what} is {values.dtype} of {values.shape}; numbers of {shape} are needed")
    return values
