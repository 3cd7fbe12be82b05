"""Read JSON and arrays from files that may be truncated, altered or forged; refuse them with the reason."""

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


def read_json(path: Path, max_bytes: int) -> Any:
    """Read a JSON file; NaN and infinite numbers are refused."""
    try:
        return json.loads(read_limited(path, max_bytes), parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise InputRefused(f"{path}: is not valid JSON ({error})") from error


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.20} is not a finite number")
    return number


def load_arrays(path: Path, max_bytes: int) -> dict[str, NDArray[Any]]:
    """Read all arrays of an .npz file that unpacks to at most `max_bytes`."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > max_bytes:
            raise InputRefused(f"{path}: unpacks to more than {max_bytes:,} bytes, the limit for this file")
        with np.load(path, allow_pickle=False) as contents:
            arrays = dict(contents)
        if not all(isinstance(array, np.ndarray) for array in arrays.values()):
            raise InputRefused(f"{path}: cannot be read (it contains more than arrays)")
        return arrays
    except InputRefused:
        raise
    except Exception as error:
        raise InputRefused(f"{path}: cannot be read ({type(error).__name__})") from error


def check_image(values: NDArray[Any] | None, shape: tuple[int, ...], what: str) -> NDArray[Any]:
    """Return a numeric array of the expected shape; refuse anything else."""
    if values is None:
        raise InputRefused(f"{what} is missing")
    if values.shape != shape or values.dtype.kind not in "biuf":
        raise InputRefused(f"{what} is {values.dtype} of shape {values.shape}; expected numbers of shape {shape}")
    return values
