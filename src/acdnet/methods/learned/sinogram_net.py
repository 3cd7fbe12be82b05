"""The sinogram network of the dual-domain methods.

Five convolutions halve the sinogram, five restore its size. Every level on the way down also takes the trace (or the
path through metal), averaged to its resolution.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from acdnet.config import DualConfig

LEVELS = 5
WRAP = 5 * 2**LEVELS
"""Views added at each end from the other end of the full turn: half the receptive field."""


class SinogramNet(nn.Module):
    """Map sinogram and metal, B x 1 x views x bins, to a sinogram; if `periodic`, the views form a circle."""

    def __init__(self, config: DualConfig, periodic: bool = False) -> None:
        super().__init__()
        w = config.levels()
        self.periodic = periodic
        self.down = nn.ModuleList(
            nn.Conv2d(before + 1, after, 4, stride=2, padding=1) for before, after in pairwise((1, *w))
        )
        inputs = (w[4] + 1, *(2 * w[level] + 1 for level in (3, 2, 1, 0)))
        outputs = (w[3], w[2], w[1], w[0], 1)
        self.up = nn.ModuleList(
            nn.Conv2d(before, after, 3, padding=1) for before, after in zip(inputs, outputs, strict=True)
        )

    def forward(self, sinogram: Tensor, metal: Tensor) -> Tensor:
        views, bins = sinogram.shape[-2:]
        x, m = self._padded(sinogram), self._padded(metal)
        sizes, kept = [x.shape[-2:]], []
        x = torch.cat((x, m), 1)
        for conv in self.down:
            x, m = F.leaky_relu(conv(x), 0.2), F.avg_pool2d(m, 2)
            x = torch.cat((x, m), 1)
            sizes.append(x.shape[-2:])
            kept.append(x)
        x = kept.pop()
        for level, conv in enumerate(self.up, 1):
            x = conv(F.interpolate(x, size=sizes[LEVELS - level], mode="bilinear", align_corners=False))
            if kept:
                x = torch.cat((F.relu(x), kept.pop()), 1)
        first = min(WRAP, views) if self.periodic else 0
        return x[..., first : first + views, :bins]

    def _padded(self, sinogram: Tensor) -> Tensor:
        """Continue the views around the turn if periodic, and pad both sides with zeros to a multiple of 2^LEVELS."""
        if self.periodic:
            wrap = min(WRAP, sinogram.shape[-2])
            sinogram = torch.cat((sinogram[..., -wrap:, :], sinogram, sinogram[..., :wrap, :]), -2)
        views, bins = sinogram.shape[-2:]
        return F.pad(sinogram, (0, -bins % 2**LEVELS, 0, -views % 2**LEVELS))
