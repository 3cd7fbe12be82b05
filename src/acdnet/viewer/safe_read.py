"""Read JSON and arrays from files that may be truncated, altered or forged; refuse them with the reason."""

from __future__ import annotations

import json
import math
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused
from acdnet.files import read_limited

MAX_DEPTH = 20
"""Levels of lists and objects in a JSON file; ours have five."""
MAX_DIGITS = 15
"""Digits of an integer, which a float can then hold."""


def refuse_links(folder: Path) -> None:
    """Refuse a folder that contains symbolic links: they may lead to files of others."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            refuse_link(Path(place, name))


def refuse_link(path: Path) -> None:
    """Refuse a symbolic link."""
    if path.is_symlink():
        raise InputRefused(f"{path}: is a link, which is not followed; copy the file instead")


def read_json(path: Path, max_bytes: int) -> Any:
    """Read a JSON file; refuse links, deep nesting, and numbers and texts that cannot be passed on."""
    refuse_link(path)
    try:
        values = json.loads(
            read_limited(path, max_bytes), parse_float=_finite, parse_constant=_finite, parse_int=_integer
        )
        _check_values(values)
    except (ValueError, RecursionError) as error:
        raise InputRefused(f"{path}: is not valid JSON ({error})") from error
    return values


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.20} is not a finite number")
    return number


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > MAX_DIGITS:
        raise ValueError(f"{text:.20}... has more than {MAX_DIGITS} digits")
    return int(text)


def _check_values(values: Any) -> None:
    """Refuse deep nesting, and halves of characters, which no encoding can hold."""
    level = [values]
    for _ in range(MAX_DEPTH):
        following: list[Any] = []
        for value in level:
            if isinstance(value, str):
                value.encode()
            elif isinstance(value, dict):
                following += [*value, *value.values()]
            elif isinstance(value, list):
                following += value
        level = following
    if level:
        raise ValueError(f"it is nested more than {MAX_DEPTH} deep")


def load_arrays(path: Path, max_bytes: int) -> dict[str, NDArray[Any]]:
    """Read all arrays of an .npz file that unpacks to at most `max_bytes`."""
    refuse_link(path)
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
