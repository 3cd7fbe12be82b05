"""3 x 3 convolutions of few channels on CPUs, plane by plane, for the proximal networks of M.

Libraries fill vector registers with the channels of a pixel; six channels leave them mostly empty. Here registers hold
neighbouring pixels of a row. Planes have a border of zeros; three output planes are computed at a time, so that each
pixel is read once for three sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from acdnet.fast.jit import compile_loop, shared_out

TOGETHER = 3
"""Output planes computed at a time; `_rows` is written for three."""

Floats = NDArray[np.float32]


class PlanarTrunk:
    """Residual blocks x <- relu(x + conv(relu(conv(x)))) of one image, 1 x channels x H x W."""

    def __init__(self, blocks: Sequence[tuple[nn.Conv2d, nn.Conv2d]]) -> None:
        self.blocks = [(_weights(first), _weights(second)) for first, second in blocks]

    def __call__(self, x: Tensor) -> Tensor:
        _, channels, H, W = x.shape
        planes = channels + -channels % TOGETHER
        image, between = (np.zeros((planes, H + 2, W + 2), np.float32) for _ in range(2))
        image[:channels, 1:-1, 1:-1] = x[0].numpy()
        for first, second in self.blocks:
            convolve(image, first, between, skip=False)
            convolve(between, second, image, skip=True)
        return torch.from_numpy(image[:channels, 1:-1, 1:-1])[None]


def _weights(conv: nn.Conv2d) -> tuple[Floats, Floats]:
    """Return kernels and biases, padded with zeros to a multiple of `TOGETHER` planes."""
    assert conv.bias is not None
    channels = conv.out_channels
    more = -channels % TOGETHER
    kernels = nn.functional.pad(conv.weight.detach(), (0, 0, 0, 0, 0, more, 0, more))
    return kernels.contiguous().numpy(), nn.functional.pad(conv.bias.detach(), (0, more)).numpy()


def convolve(x: Floats, weights: tuple[Floats, Floats], out: Floats, skip: bool) -> None:
    """Compute out <- relu(conv(x)), or out <- relu(out + conv(x)); planes x (H + 2) x (W + 2)."""
    kernels, biases = weights
    shared_out(x.shape[1] - 2, lambda first, last: _rows(x, kernels, biases, out, skip, first, last))


@compile_loop(inline=True)
def _nine(kernels: Floats, o: int, c: int) -> Any:
    """Return the weights of a kernel, to be held in registers."""
    k = kernels[o, c]
    return k[0, 0], k[0, 1], k[0, 2], k[1, 0], k[1, 1], k[1, 2], k[2, 0], k[2, 1], k[2, 2]


@compile_loop(inline=True)
def _around(a: Floats, b: Floats, c: Floats, j: int) -> Any:
    """Return the pixels of three rows under a kernel."""
    return a[j], a[j + 1], a[j + 2], b[j], b[j + 1], b[j + 2], c[j], c[j + 1], c[j + 2]


@compile_loop(inline=True)
def _dot(k: Any, p: Any) -> Any:
    upper, middle = k[0] * p[0] + k[1] * p[1] + k[2] * p[2], k[3] * p[3] + k[4] * p[4] + k[5] * p[5]
    return upper + middle + k[6] * p[6] + k[7] * p[7] + k[8] * p[8]


@compile_loop()
def _put(sums: Floats, row: Floats, skip: bool) -> None:
    """Rectify the sums of a row and store them."""
    for j in range(len(sums)):
        value = sums[j] + row[j + 1] if skip else sums[j]
        row[j + 1] = np.float32(0.0) if value < 0 else value  # NaN stays NaN


@compile_loop()
def _rows(x: Floats, kernels: Floats, biases: Floats, out: Floats, skip: bool, first: int, last: int) -> None:
    channels, _, wide = x.shape
    W = wide - 2
    one, two, three = np.empty(W, np.float32), np.empty(W, np.float32), np.empty(W, np.float32)
    for i in range(first, last):
        for o in range(0, channels, 3):
            one[:], two[:], three[:] = biases[o], biases[o + 1], biases[o + 2]
            for c in range(channels):
                above, here, below = x[c, i], x[c, i + 1], x[c, i + 2]
                k, m, n = _nine(kernels, o, c), _nine(kernels, o + 1, c), _nine(kernels, o + 2, c)
                for j in range(W):
                    p = _around(above, here, below, j)  # once, for all three
                    one[j] += _dot(k, p)
                    two[j] += _dot(m, p)
                    three[j] += _dot(n, p)
            _put(one, out[o, i + 1], skip)
            _put(two, out[o + 1, i + 1], skip)
            _put(three, out[o + 2, i + 1], skip)
