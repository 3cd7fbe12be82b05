"""The localiser: a small U-Net that marks metal in a slice, on pixels twice as wide inside.

Its channels (`acdnet.methods.learned.clues`) show the slice in three windows, its neighbours, and what the reduction
says of its bright pixels.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from acdnet.config import LocaliserConfig

CHANNELS = 9
OWN = 3
"""The first channels show the slice itself; they are seen again at full resolution."""
FINE = 8
"""Channels at full resolution."""


class Localiser(nn.Module):
    """The network; its output is the logit of the probability that a pixel is metal."""

    def __init__(self, config: LocaliserConfig) -> None:
        super().__init__()
        self.config = config
        widths = config.widths()
        self.down = nn.ModuleList(
            _double(before, after) for before, after in zip((4 * CHANNELS, *widths[:-1]), widths, strict=True)
        )
        self.up = nn.ModuleList(
            _double(widths[level] + widths[level + 1], widths[level]) for level in reversed(range(len(widths) - 1))
        )
        self.fine = nn.Conv2d(widths[0], 4 * FINE, 1)
        self.last = nn.Sequential(
            nn.Conv2d(FINE + OWN, FINE, 3, padding=1), nn.ReLU(), nn.Conv2d(FINE, 1, 3, padding=1)
        )

    def forward(self, channels: Tensor) -> Tensor:
        """Return logits, B x 1 x H x W, of channels, B x 9 x H x W."""
        height, width = channels.shape[-2:]
        step = 2 ** len(self.down)
        padded = F.pad(channels, (0, -width % step, 0, -height % step))
        x = F.pixel_unshuffle(padded, 2)
        kept = []
        for level, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if level else x)
            kept.append(x)
        for block, skipped in zip(self.up, reversed(kept[:-1]), strict=True):
            x = block(torch.cat((F.interpolate(x, scale_factor=2.0), skipped), 1))
        fine = F.relu(F.pixel_shuffle(self.fine(x), 2))
        logits: Tensor = self.last(torch.cat((fine, padded[:, :OWN]), 1))
        return logits[..., :height, :width]


def _double(before: int, after: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for channels in (before, after):
        layers += [nn.Conv2d(channels, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)
