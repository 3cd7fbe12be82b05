"""Metal shapes given by the user: read from .png, .npy or .npz, then scaled, rotated and placed."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import affine_transform

from acdnet.errors import InputRefused
from acdnet.files import read_limited
from acdnet.messages import quoted
from acdnet.npy import map_array
from acdnet.units import Mask

LARGEST_FILE = 256 * 2**20
LARGEST_STACK = 2**28
"""Largest number of pixels or bytes of all shapes in a file."""


def read_shapes(path: Path, cut: bool = True) -> tuple[Mask, ...]:
    """Read shapes: one from .png, one or a stack from .npy and .npz (n x H x W, or H x W x n as in the benchmark).

    `cut` removes the empty border of each shape.
    """
    suffix = path.suffix.lower()
    if suffix == ".png":
        shapes = [_read_png(path)]
    elif suffix in (".npy", ".npz"):
        shapes = [shape for array in _read_arrays(path) for shape in _unstack(array, path)]
    else:
        raise InputRefused(f"{path}: shapes must be .png, .npy or .npz")
    found = tuple(_cut_out(shape) if cut else shape for shape in shapes if shape.any() or not cut)
    if not any(shape.any() for shape in found):
        raise InputRefused(f"{path}: has no shape; metal is where values are above zero")
    return found


def _read_png(path: Path) -> Mask:
    from PIL import Image

    try:
        with Image.open(BytesIO(read_limited(path, LARGEST_FILE)), formats=("PNG",)) as picture:
            if picture.width * picture.height > LARGEST_STACK:
                raise InputRefused(f"{path}: {picture.width} x {picture.height} pixels are too many")
            grey = np.asarray(picture.convert("L"))
    except (InputRefused, MemoryError):
        raise
    except Exception as error:
        raise InputRefused(f"{path}: cannot be read as PNG ({quoted(error)})") from error
    return np.asarray(grey > grey.max() / 2)


def _read_arrays(path: Path) -> list[NDArray[Any]]:
    if path.suffix.lower() != ".npz":
        return [map_array(path, LARGEST_FILE)]
    read_limited(path, LARGEST_FILE)
    try:
        _check_sizes(path)
        with np.load(path, allow_pickle=False) as loaded:
            return [np.asarray(loaded[name]) for name in loaded.files]
    except (InputRefused, MemoryError):
        raise
    except Exception as error:
        raise InputRefused(f"{path}: cannot be read as .npz ({quoted(error)})") from error


def _check_sizes(path: Path) -> None:
    """Refuse an archive that is too large, before it is unpacked."""
    with zipfile.ZipFile(path) as archive:
        if sum(item.file_size for item in archive.infolist()) > LARGEST_STACK:
            raise InputRefused(f"{path}: unpacks to more than {LARGEST_STACK:,} bytes")


def _unstack(array: NDArray[Any], path: Path) -> list[Mask]:
    if array.dtype.kind not in "buif" or array.ndim not in (2, 3) or array.size == 0:
        raise InputRefused(f"{path}: contains {array.dtype} of shape {array.shape}; 2 or 3 axes of numbers are needed")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputRefused(f"{path}: contains values that are not finite")
    masks: Mask = np.asarray(array > 0)
    if masks.ndim == 2:
        return [masks]
    last = masks.shape[0] == masks.shape[1] != masks.shape[2]  # H x W x n
    return list(np.moveaxis(masks, 2, 0) if last else masks)


def _cut_out(shape: Mask) -> Mask:
    rows, columns = np.nonzero(shape.any(1))[0], np.nonzero(shape.any(0))[0]
    return shape[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def place(shape: Mask, size: tuple[int, ...], centre: tuple[float, float], area: float, turn: float) -> Mask:
    """Scale a shape to an area in pixels, rotate it, and place it in an empty slice."""
    scale = np.sqrt(area / shape.sum())
    matrix = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]) / scale
    middle = (np.array(shape.shape) - 1) / 2
    padded = np.pad(shape.astype(np.float32), 1)
    placed = affine_transform(padded, matrix, middle + 1 - matrix @ np.array(centre), output_shape=size, order=1)
    return np.asarray(placed > 0.5)
