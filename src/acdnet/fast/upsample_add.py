"""relu(x + up(f)) in one pass over x, in place: the end of a residual block on CPUs.

`up` is the bilinear interpolation of `acdnet.model.residual`. Rows of f are interpolated horizontally into a buffer
that stays in the cache; each row of x then adds the weighted mean of two such rows. Images are channels last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from acdnet.fast.jit import compile_loop, shared_out

Array = NDArray[np.float32]


def add_up_(x: Tensor, f: Tensor, factor: int) -> Tensor:
    """Add f, on pixels `factor` times as wide, to x and rectify, in place; B x channels x H x W."""
    f = f.contiguous(memory_format=torch.channels_last)
    for one, coarse in zip(_rows(x), _rows(f), strict=True):
        shared_out(len(one), lambda first, last, a=one, b=coarse: _add_rows(a, b, factor, first, last))  # type: ignore[misc]
    return x


def _rows(images: Tensor) -> list[Array]:
    """Return each image as a view of H x W x channels."""
    last = images.permute(0, 2, 3, 1)
    assert last.is_contiguous()
    return [image.numpy() for image in last]


@compile_loop(inline=True)
def _place(i: int, factor: int, count: int) -> Any:
    """Return the two wide pixels next to the centre of a narrow one, and the weight of the second."""
    place = max((i + 0.5) / factor - 0.5, 0.0)
    before = int(place)
    return before, min(before + 1, count - 1), np.float32(place - before)


@compile_loop()
def _widen(row: Array, values: Array, factor: int, width: int) -> None:
    """Interpolate w x channels to width x channels."""
    w, channels = values.shape
    for j in range(width):
        left, right, share = _place(j, factor, w)
        for c in range(channels):
            row[j * channels + c] = values[left, c] + share * (values[right, c] - values[left, c])


@compile_loop()
def _add_rows(x: Array, f: Array, factor: int, first: int, last: int) -> None:
    _, width, channels = x.shape
    h = f.shape[0]
    upper, lower = np.empty(width * channels, np.float32), np.empty(width * channels, np.float32)
    known = -2
    for i in range(first, last):
        if factor == 1:
            same, out = f[i].reshape(width * channels), x[i].reshape(width * channels)
            for k in range(width * channels):
                value = out[k] + same[k]
                out[k] = np.float32(0.0) if value < 0 else value
            continue
        above, below, share = _place(i, factor, h)
        if above == known + 1:
            upper, lower = lower, upper
        elif above != known:
            _widen(upper, f[above], factor, width)
        if above != known:
            _widen(lower, f[below], factor, width)
            known = above
        out = x[i].reshape(width * channels)
        for k in range(width * channels):
            value = out[k] + upper[k] + share * (lower[k] - upper[k])
            out[k] = np.float32(0.0) if value < 0 else value  # NaN stays NaN
