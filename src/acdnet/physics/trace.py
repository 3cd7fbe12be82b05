"""The metal trace of a sinogram: partial volume at its edges, and linear interpolation."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

EDGE_SHARE = 0.25
"""Share of the metal path in the first and last bin of a run of metal (partial volume)."""


def soften_edges(path: Tensor) -> Tensor:
    """Divide the metal path by four in the first and the last bin of every run of metal along the detector."""
    trace = path > 0
    padded = F.pad(trace, (1, 1), value=False)
    inner = padded[..., :-2] & trace & padded[..., 2:]
    return torch.where(trace & ~inner, EDGE_SHARE * path, path)


def interpolate(sinogram: Tensor, trace: Tensor) -> Tensor:
    """Replace the trace, view by view, by the straight line between its two neighbours (LI).

    A run that reaches the end of the detector takes the value of its one neighbour; a view that is all trace is
    unchanged. The result carries no gradient.
    """
    if sinogram.requires_grad and torch.is_grad_enabled():
        raise ValueError("interpolation carries no gradient; call it on sinogram.detach()")
    if sinogram.shape != trace.shape:
        raise ValueError(f"sinogram {tuple(sinogram.shape)} and trace {tuple(trace.shape)} differ in shape")
    values, bins = sinogram.detach().double(), sinogram.shape[-1]
    at = torch.arange(bins, device=values.device).expand(values.shape)
    before = torch.where(trace, -1, at).cummax(-1).values
    after = torch.where(trace, bins, at).flip(-1).cummin(-1).values.flip(-1)
    left = torch.where(before < 0, after, before)
    right = torch.where(after >= bins, before, after)
    share = (at - left).double() / (right - left).clamp(min=1)
    first, second = (values.gather(-1, place.clamp(0, bins - 1)) for place in (left, right))
    line = (1 - share) * first + share * second
    known = (before >= 0) | (after < bins)
    return torch.where(trace & known, line, values).to(sinogram)
