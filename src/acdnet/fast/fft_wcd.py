r"""The operators of `acdnet.model.wcd` by real FFTs of zero-padded images.

The results equal those of direct convolution, at a cost independent of the kernel size. The gradient of each operator
consists of the other two.
"""

from __future__ import annotations

import math
import threading
import weakref
from functools import lru_cache
from typing import Any

import torch
from scipy.fft import next_fast_len
from torch import Tensor

from acdnet.model import wcd


def synthesise(C: Tensor, M: Tensor) -> Tensor:
    """Compute C (x) M."""
    A: Tensor = _Synthesise.apply(C, M)  # type: ignore[no-untyped-call]
    return A


def analyse(C: Tensor, R: Tensor) -> Tensor:
    """Compute C (x)^T R."""
    M: Tensor = _Analyse.apply(C, R)  # type: ignore[no-untyped-call]
    return M


def lags(M: Tensor, R: Tensor, p: int) -> Tensor:
    """Correlate M and R at p x p shifts."""
    L: Tensor = _Lags.apply(M, R, p)  # type: ignore[no-untyped-call]
    return L


FFT = wcd.Operators(synthesise, analyse, lags)


class _Synthesise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, C: Tensor, M: Tensor) -> Tensor:
        ctx.save_for_backward(C, M)
        return _synthesise(C, M)

    @staticmethod
    def backward(ctx: Any, G: Tensor) -> tuple[Tensor, Tensor]:
        C, M = ctx.saved_tensors
        return _lags(M, G, C.shape[-1]), _analyse(C, G)


class _Analyse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, C: Tensor, R: Tensor) -> Tensor:
        ctx.save_for_backward(C, R)
        return _analyse(C, R)

    @staticmethod
    def backward(ctx: Any, G: Tensor) -> tuple[Tensor, Tensor]:
        C, R = ctx.saved_tensors
        return _lags(G, R, C.shape[-1]), _synthesise(C, G)


class _Lags(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, M: Tensor, R: Tensor, p: int) -> Tensor:
        ctx.save_for_backward(M, R)
        return _lags(M, R, p)

    @staticmethod
    def backward(ctx: Any, G: Tensor) -> tuple[Tensor, Tensor, None]:
        M, R = ctx.saved_tensors
        return _analyse(G, R), _synthesise(G, M), None


def _synthesise(C: Tensor, M: Tensor) -> Tensor:
    size = _padded(M, C.shape[-1])
    turned = C.flip(-2, -1)  # correlation is convolution with the flipped kernel
    spectrum = (_of_maps(M, size) * _of_kernels(turned, size)).sum(dim=1, keepdim=True)
    return _central(_irfft(spectrum, size), M, C)


def _analyse(C: Tensor, R: Tensor) -> Tensor:
    size = _padded(R, C.shape[-1])
    return _central(_irfft(_rfft(R, size) * _of_kernels(C, size), size), R, C)


def _lags(M: Tensor, R: Tensor, p: int) -> Tensor:
    """Correlate M and R at the p x p shifts of a kernel, B x N x p x p."""
    size = _padded(M, p)
    circular = _irfft(_of_maps(M, size) * _rfft(R, size).conj(), size)
    shift = torch.arange(p, device=M.device) - p // 2
    return circular[..., shift[:, None], shift]


def _padded(image: Tensor, p: int) -> tuple[int, int]:
    """Choose a size at which circular convolution equals zero-padded convolution and the FFT is fast."""
    H, W = (next_fast_len(side + p - 1, real=True) for side in image.shape[-2:])
    return H, W


def _rfft(x: Tensor, size: tuple[int, int]) -> Tensor:
    spectrum: Tensor = torch.fft.rfft2(x, s=size)
    return spectrum


class _Known(threading.local):
    """The last maps of this thread and their spectrum."""

    maps: weakref.ref[Tensor] | None = None
    size: tuple[int, int] = (0, 0)
    spectrum = torch.empty(0)


_known = _Known()


def _of_maps(M: Tensor, size: tuple[int, int]) -> Tensor:
    """Transform the maps; inference caches the result, since a stage needs it three times.

    Inference must therefore not modify maps in place.
    """
    if not torch.is_inference_mode_enabled():
        return _rfft(M, size)
    if _known.maps is None or _known.maps() is not M or _known.size != size:
        _known.maps, _known.size, _known.spectrum = weakref.ref(M), size, _rfft(M, size)
    return _known.spectrum


def _of_kernels(C: Tensor, size: tuple[int, int]) -> Tensor:
    """Transform the kernels by two matrix products, which are faster than an FFT of mostly zeros."""
    (H, W), p = size, C.shape[-1]
    rows, columns = _waves(H, p, C.dtype, C.device), _waves(W, p, C.dtype, C.device)[: W // 2 + 1]
    return rows @ (C.to(rows.dtype) @ columns.T)


@lru_cache(maxsize=16)
def _waves(length: int, p: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return the first p columns of the Fourier matrix."""
    with torch.inference_mode(mode=False):  # the cached tensor must also work in training
        turns = torch.outer(torch.arange(length), torch.arange(p)).remainder(length).double() / length
        waves = torch.polar(torch.ones_like(turns), -2 * math.pi * turns)
        return waves.to(device, dtype.to_complex())


def _irfft(spectrum: Tensor, size: tuple[int, int]) -> Tensor:
    x: Tensor = torch.fft.irfft2(spectrum, s=size)
    return x


def _central(full: Tensor, image: Tensor, kernel: Tensor) -> Tensor:
    """Crop a full convolution to the pixels of the image."""
    c = kernel.shape[-1] // 2
    return full[..., c : c + image.shape[-2], c : c + image.shape[-1]].contiguous()
