"""The trace of metal in a sinogram: where it is, its soft edges, and linear interpolation over it."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import binary_erosion
from torch import Tensor

EDGE_SHARE = 0.25
"""Share of the metal path that the first and the last bin of a run of metal see (partial volume)."""


def soften_edges(path: Tensor) -> Tensor:
    """Divide the metal path by four in the first and the last bin of every run of metal along the detector."""
    trace = path > 0
    inner = binary_erosion(trace.numpy(), np.ones((1,) * (path.ndim - 1) + (3,), bool))
    return torch.where(trace & ~torch.from_numpy(inner), EDGE_SHARE * path, path)


def interpolate(sinogram: Tensor, trace: Tensor) -> Tensor:
    """Replace the trace, view by view, by the straight line between its two neighbours (LI).

    A run that reaches the end of the detector is continued with its one neighbour; a view that is all trace is left
    as it is. The result carries no gradient.
    """
    if sinogram.requires_grad and torch.is_grad_enabled():
        raise ValueError("interpolation carries no gradient; call it on sinogram.detach()")
    if sinogram.shape != trace.shape:
        raise ValueError(f"sinogram {tuple(sinogram.shape)} and trace {tuple(trace.shape)} differ in shape")
    values = sinogram.detach().cpu().double().numpy().reshape(-1, sinogram.shape[-1])
    hidden = trace.cpu().numpy().reshape(values.shape)
    filled = _interpolate(values, hidden)
    return torch.from_numpy(filled).to(sinogram).view(sinogram.shape)


def _interpolate(values: NDArray[np.float64], hidden: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Interpolate all views at once: for each bin, the nearest bin outside the trace before and after it."""
    bins = values.shape[1]
    at = np.arange(bins)
    before = np.maximum.accumulate(np.where(hidden, -1, at), axis=1)
    after = np.minimum.accumulate(np.where(hidden, bins, at)[:, ::-1], axis=1)[:, ::-1]
    view, bin_ = np.nonzero(hidden & ((before >= 0) | (after < bins)))
    left, right = before[view, bin_], after[view, bin_]
    left, right = np.where(left < 0, right, left), np.where(right >= bins, left, right)
    share = (bin_ - left) / np.maximum(right - left, 1)
    filled = values.copy()
    filled[view, bin_] = (1 - share) * values[view, left] + share * values[view, right]
    return filled
