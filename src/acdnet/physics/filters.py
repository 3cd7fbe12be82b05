"""Smoothing filters on tensors, on any device.

Borders follow scipy's names: `reflect` repeats the image mirrored at its edge, `nearest` repeats the edge itself, and
`wrap` continues at the other end, for the views of a full turn.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

REACH = 4.0
"""Standard deviations at which a Gaussian is truncated."""


def gaussian(image: Tensor, sigmas: Sequence[float], borders: Sequence[str] = ("reflect", "reflect")) -> Tensor:
    """Smooth the last two axes (rows, columns) of H x W or ... x H x W by a Gaussian."""
    for axis, (sigma, border) in enumerate(zip(sigmas, borders, strict=True)):
        reach = int(REACH * sigma + 0.5)
        at = torch.arange(-reach, reach + 1, dtype=torch.float64)
        taps = torch.exp(-0.5 * (at / sigma) ** 2)
        image = _along(image, (taps / taps.sum()).to(image.dtype).to(image.device), axis - 2, border)
    return image


def box_mean(image: Tensor, size: Sequence[int], borders: Sequence[str] = ("reflect", "reflect")) -> Tensor:
    """Average the last two axes over windows of odd sides."""
    for axis, (side, border) in enumerate(zip(size, borders, strict=True)):
        image = _along(image, image.new_full((side,), 1.0 / side), axis - 2, border)
    return image


def _along(image: Tensor, taps: Tensor, axis: int, border: str) -> Tensor:
    """Filter one of the last two axes with symmetric taps."""
    reach = len(taps) // 2
    padded = image.index_select(axis, _padded(image.shape[axis], reach, border, image.device))
    kernel = taps.view((1, 1, -1, 1) if axis == -2 else (1, 1, 1, -1))
    return F.conv2d(padded.reshape(-1, 1, *padded.shape[-2:]), kernel).view(image.shape)


def _padded(length: int, reach: int, border: str, device: torch.device) -> Tensor:
    """Return the indices of the entries at positions -reach .. length + reach."""
    at = torch.arange(-reach, length + reach, device=device)
    match border:
        case "nearest":
            return at.clamp(0, length - 1)
        case "wrap":
            return at % length
        case "reflect":
            folded = at % (2 * length)
            return torch.minimum(folded, 2 * length - 1 - folded)
    raise ValueError(f"no border {border!r}; it is reflect, nearest or wrap")
