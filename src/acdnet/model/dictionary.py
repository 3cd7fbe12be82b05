"""The dictionary D before training: oriented streaks."""

from __future__ import annotations

import torch
from torch import Tensor

FIRST_ANGLE, LAST_ANGLE = 65.0, 120.0
"""Range of the directions of the streaks in degrees."""
MINOR_SIGMA = 0.76
MAJOR_SIGMA = (1.1, 1.7)
"""Standard deviations in pixels: across the thin streaks, and along them from the first to the last."""
BROAD_SIGMA = (1.0, 2.4)
"""Standard deviations across and along the broad streaks, the last ones of the set."""
BROAD_SHARE = 0.375
"""Share of broad streaks (12 of 32)."""
GOLDEN = 0.618033988749895
"""Steps by the golden ratio distribute any number of directions evenly."""


def oriented_streaks(d: int, p: int) -> Tensor:
    """Return d non-negative p x p kernels with sum one: anisotropic Gaussians of increasing length."""
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
