"""The network in the sinogram that the dual-domain methods share.

Five convolutions that halve the sinogram, five that bring it back; at every level the network is told anew how much
of a cell is metal: the trace (or the path through metal), averaged down to that level.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from acdnet.config import DualConfig

LEVELS = 5
WRAP = 5 * 2**LEVELS
"""Views that are continued from the other end of a full turn, at each end: as far as an output sees."""


class SinogramNet(nn.Module):
    """B x 1 x views x bins sinogram and metal in, sinogram out. `periodic`: the last view is followed by the first."""

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
        x, told = self._padded(sinogram), self._padded(metal)
        sizes, kept = [x.shape[-2:]], []
        x = torch.cat((x, told), 1)
        for conv in self.down:
            x, told = F.leaky_relu(conv(x), 0.2), F.avg_pool2d(told, 2)
            x = torch.cat((x, told), 1)
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
        """Continue the views round the turn, if wanted, and fill both sides up to a multiple of the last level's cell.

        Bins are filled with zeros, which is what rays beside the patient see.
        """
        if self.periodic:
            wrap = min(WRAP, sinogram.shape[-2])
            sinogram = torch.cat((sinogram[..., -wrap:, :], sinogram, sinogram[..., :wrap, :]), -2)
        views, bins = sinogram.shape[-2:]
        return F.pad(sinogram, (0, -bins % 2**LEVELS, 0, -views % 2**LEVELS))
