"""The dictionary D before training: oriented streaks, made by formula."""

from __future__ import annotations

import torch
from torch import Tensor

FIRST_ANGLE, LAST_ANGLE = 65.0, 120.0
"""Directions in degrees between which the streaks lie."""
MINOR_SIGMA = 0.76
MAJOR_SIGMA = (1.1, 1.7)
"""Spread across a streak, and along it from the first kernel to the end of the thin ones, in pixels."""
BROAD_SIGMA = (1.0, 2.4)
"""Spread across and along the broad streaks that close the set."""
BROAD_SHARE = 0.375
"""Share of the set that is broad (12 of 32)."""
GOLDEN = 0.618033988749895
"""Steps of the golden ratio spread any number of directions evenly."""


def oriented_streaks(d: int, p: int) -> Tensor:
    """Make d non-negative p x p kernels of sum one: anisotropic Gaussians of growing length."""
    thin = max(1, d - round(BROAD_SHARE * d))
    index = torch.arange(d, dtype=torch.float64)
    growth = (index / max(1, thin - 1)).clamp(max=1.0)
    broad = index >= thin
    minor = torch.where(broad, BROAD_SIGMA[0], MINOR_SIGMA)
    major = torch.where(broad, BROAD_SIGMA[1], MAJOR_SIGMA[0] + growth * (MAJOR_SIGMA[1] - MAJOR_SIGMA[0]))
    angle = torch.deg2rad(FIRST_ANGLE + (LAST_ANGLE - FIRST_ANGLE) * (index * GOLDEN % 1.0))

    offset = torch.arange(p, dtype=torch.float64) - p // 2
    y, x = torch.meshgrid(offset, offset, indexing="ij")
    cos, sin = angle.cos()[:, None, None], angle.sin()[:, None, None]
    along, across = x * cos + y * sin, y * cos - x * sin
    kernels = torch.exp(-0.5 * ((along / major[:, None, None]) ** 2 + (across / minor[:, None, None]) ** 2))
    return (kernels / kernels.sum(dim=(1, 2), keepdim=True)).float()
