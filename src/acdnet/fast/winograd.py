r"""3 x 3 convolutions on CPUs by Winograd's minimal filtering F(4x4, 3x3), for the residual trunks.

A tile of 4 x 4 output pixels needs a tile d of 6 x 6 input pixels. With the small matrices A, B, G of
Winograd (1980), as chosen by Lavin and Gray (2016),

    output tile = A^T [ (G g G^T) . (B^T d B) ] A

takes 36 products per pair of channels instead of 144. For each of the 36 positions in a tile they form one small matrix
product over all tiles of a band, computed by the BLAS of torch; the two transforms (additions only) are compiled by
numba. A band of tiles is transformed, multiplied and transformed back while it is in the cache, which also bounds the
memory.

Packed layout: channels x (4 R + 2) x 4 Q. A row, with one zero column before it, is stored by phase, x mod 4 = 0, 1, 2,
3, each Q long, so that both transforms read contiguous memory.
"""

from __future__ import annotations

import threading

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from acdnet.fast.jit import compile_loop, in_threads

Floats = NDArray[np.float32]

TILES_PER_BAND = 420
"""Tiles per band and thread: enough for fast matrix products, few enough for the cache."""

# fmt: off
G = np.array([[ 1/4,     0,    0],
              [-1/6,  -1/6, -1/6],
              [-1/6,   1/6, -1/6],
              [ 1/24,  1/12, 1/6],
              [ 1/24, -1/12, 1/6],
              [    0,     0,   1]])
# fmt: on


def pack(image: Tensor) -> Tensor:
    """Convert C x H x W to the packed layout."""
    C, H, W = image.shape
    R, Q = -(-H // 4), -(-W // 4) + 1
    padded = image.new_zeros(C, 4 * R + 2, 4 * Q)
    padded[:, 1 : H + 1, 1 : W + 1] = image
    return padded.view(C, 4 * R + 2, Q, 4).transpose(2, 3).reshape(C, 4 * R + 2, 4 * Q)


def unpack(packed: Tensor, H: int, W: int) -> Tensor:
    """Convert a packed image to C x H x W, as a copy."""
    C, rows, columns = packed.shape
    plain = packed.view(C, rows, 4, columns // 4).transpose(2, 3).reshape(C, rows, columns)
    return plain[:, 1 : H + 1, 1 : W + 1].contiguous()


class WinogradConv:
    """relu(conv3x3(x) + bias), or relu(conv3x3(x) + bias + skip), on packed images of H x W pixels."""

    def __init__(self, conv: nn.Conv2d) -> None:
        weight = conv.weight.detach().double().numpy()
        assert conv.bias is not None
        self.bias: Floats = conv.bias.detach().numpy()
        self.U = torch.from_numpy(np.einsum("ay,ocyx,bx->aboc", G, weight, G).astype(np.float32)).flatten(0, 1)

    def __call__(self, x: Floats, out: Floats, skip: Floats | None, H: int, W: int) -> None:
        """Convolve `x` into `out`; `skip` may be `out` itself."""
        R, Q = (x.shape[1] - 2) // 4, x.shape[2] // 4
        height, workers = max(1, TILES_PER_BAND // Q), torch.get_num_threads()

        def work(worker: int) -> None:
            V, M = _scratch(self.U.shape, height * Q)
            for first in range(worker * height, R, workers * height):
                last = min(R, first + height)
                n = (last - first) * Q
                _to_tiles(x, V.numpy(), first, last)
                torch.bmm(self.U, V[..., :n], out=M[..., :n])
                _from_tiles(M.numpy(), self.bias, out, x if skip is None else skip, skip is not None, first, last, H, W)

        in_threads(work, workers)


class WinogradTrunk:
    """A chain of folded residual blocks, applied to a packed image in place."""

    def __init__(self, convs: list[tuple[nn.Conv2d, nn.Conv2d]]) -> None:
        self.blocks = [(WinogradConv(first), WinogradConv(second)) for first, second in convs]

    def __call__(self, packed: Tensor, H: int, W: int) -> None:
        x, inner = packed.numpy(), _inner(packed.shape)
        for conv1, conv2 in self.blocks:
            conv1(x, inner, None, H, W)
            conv2(inner, x, x, H, W)


_local = threading.local()


def _scratch(shape: torch.Size, tiles: int) -> tuple[Tensor, Tensor]:
    """Return this thread's cached arrays for tiles before and after the product."""
    key = (*shape, tiles)
    if getattr(_local, "tiles_key", None) != key:
        positions, after, before = shape
        with torch.inference_mode(mode=False):  # the cached arrays must also work outside it
            _local.tiles = torch.empty(positions, before, tiles), torch.empty(positions, after, tiles)
        _local.tiles_key = key
    arrays: tuple[Tensor, Tensor] = _local.tiles
    return arrays


def _inner(shape: torch.Size) -> Floats:
    """Return this thread's cached image between two convolutions; its border is zero."""
    if getattr(_local, "inner_shape", None) != shape:
        _local.inner = np.zeros(shape, np.float32)
        _local.inner_shape = shape
    array: Floats = _local.inner
    return array


_ZERO, _TWO, _FOUR, _FIVE, _EIGHT = (np.float32(value) for value in (0, 2, 4, 5, 8))


@compile_loop(inline=True)
def _to_tiles(image, V, first, last):  # type: ignore[no-untyped-def]
    """Compute B^T d B for the tiles of the rows first..last: first down the columns, then along the rows."""
    channels, _, columns = image.shape
    Q = columns // 4
    n = (last - first) * Q
    down = np.zeros((6, 4 * n + 1), np.float32)
    for c in range(channels):
        for r in range(first, last):
            for phase in range(4):
                at, to = phase * Q, phase * n + (r - first) * Q
                _six(
                    image[c, 4 * r, at : at + Q],
                    image[c, 4 * r + 1, at : at + Q],
                    image[c, 4 * r + 2, at : at + Q],
                    image[c, 4 * r + 3, at : at + Q],
                    image[c, 4 * r + 4, at : at + Q],
                    image[c, 4 * r + 5, at : at + Q],
                    down[0, to : to + Q],
                    down[1, to : to + Q],
                    down[2, to : to + Q],
                    down[3, to : to + Q],
                    down[4, to : to + Q],
                    down[5, to : to + Q],
                )
        for i in range(6):
            row = down[i]
            _six(
                row[:n],
                row[n : 2 * n],
                row[2 * n : 3 * n],
                row[3 * n : 4 * n],
                row[1 : n + 1],
                row[n + 1 : 2 * n + 1],
                V[6 * i, c, :n],
                V[6 * i + 1, c, :n],
                V[6 * i + 2, c, :n],
                V[6 * i + 3, c, :n],
                V[6 * i + 4, c, :n],
                V[6 * i + 5, c, :n],
            )


@compile_loop(inline=True)
def _six(d0, d1, d2, d3, d4, d5, v0, v1, v2, v3, v4, v5):  # type: ignore[no-untyped-def]
    """Apply B^T to vectors of tiles."""
    for t in range(v0.size):
        a0, a1, a2, a3, a4, a5 = d0[t], d1[t], d2[t], d3[t], d4[t], d5[t]
        v0[t] = _FOUR * a0 - _FIVE * a2 + a4
        even, odd = a4 - _FOUR * a2, a3 - _FOUR * a1
        v1[t], v2[t] = even + odd, even - odd
        even, odd = a4 - a2, _TWO * (a3 - a1)
        v3[t], v4[t] = even + odd, even - odd
        v5[t] = _FOUR * a1 - _FIVE * a3 + a5


@compile_loop(inline=True)
def _from_tiles(M, bias, out, skip, add_skip, first, last, H, W):  # type: ignore[no-untyped-def]
    """Compute A^T M A for the tiles of the rows first..last, add bias and skip, rectify; the border stays zero."""
    channels, _, columns = out.shape
    Q = columns // 4
    n = (last - first) * Q
    down = np.empty((4, 6, n), np.float32)
    line = np.zeros((4, n + 1), np.float32)
    for c in range(channels):
        for j in range(6):
            _four(
                M[j, c, :n],
                M[6 + j, c, :n],
                M[12 + j, c, :n],
                M[18 + j, c, :n],
                M[24 + j, c, :n],
                M[30 + j, c, :n],
                down[0, j],
                down[1, j],
                down[2, j],
                down[3, j],
            )
        for i in range(4):
            d = down[i]
            _four(d[0], d[1], d[2], d[3], d[4], d[5], line[1, :n], line[2, :n], line[3, :n], line[0, 1 : n + 1])
            for r in range(first, last):
                y = 4 * r + 1 + i
                if y > H:
                    out[c, y] = _ZERO
                    continue
                for phase in range(4):
                    start, at = (r - first) * Q, phase * Q
                    _rectify(
                        line[phase, start : start + Q],
                        bias[c],
                        skip[c, y, at : at + Q],
                        add_skip,
                        out[c, y, at : at + Q],
                    )
                out[c, y, 0] = _ZERO
                for x in range(W + 1, columns):
                    out[c, y, x % 4 * Q + x // 4] = _ZERO


@compile_loop(inline=True)
def _four(m0, m1, m2, m3, m4, m5, y0, y1, y2, y3):  # type: ignore[no-untyped-def]
    """Apply A^T to vectors of tiles."""
    for t in range(y0.size):
        sum12, dif12, sum34, dif34 = m1[t] + m2[t], m1[t] - m2[t], m3[t] + m4[t], m3[t] - m4[t]
        y0[t] = m0[t] + sum12 + sum34
        y1[t] = dif12 + _TWO * dif34
        y2[t] = sum12 + _FOUR * sum34
        y3[t] = dif12 + _EIGHT * dif34 + m5[t]


@compile_loop(inline=True)
def _rectify(line, bias, skip, add_skip, out):  # type: ignore[no-untyped-def]
    """Add bias and skip, and rectify; NaN stays NaN."""
    for x in range(out.size):
        value = line[x] + bias + skip[x] if add_skip else line[x] + bias
        out[x] = _ZERO if value < _ZERO else value
