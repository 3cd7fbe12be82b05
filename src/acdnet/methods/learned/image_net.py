"""The image network of the dual-domain methods: a U-Net of five levels."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from acdnet.config import DualConfig

LEVELS = 4
"""Number of times that the image is halved."""


def double(before: int, after: int) -> nn.Sequential:
    """Return two convolutions with batch normalisation by the statistics of the slice, as in training."""
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1),
        nn.BatchNorm2d(after, track_running_stats=False),
        nn.ReLU(inplace=True),
        nn.Conv2d(after, after, 3, padding=1),
        nn.BatchNorm2d(after, track_running_stats=False),
        nn.ReLU(inplace=True),
    )


class ImageNet(nn.Module):
    """Map B x 2 x H x W to a change of the image, initially 0."""

    def __init__(self, config: DualConfig) -> None:
        super().__init__()
        w = config.levels()
        self.first = self.make_first(w[0])
        self.down = nn.ModuleList(self.make_down(*w))
        self.up = nn.ModuleList(
            (double(w[4] + w[3], w[2]), double(2 * w[2], w[1]), double(2 * w[1], w[0]), double(2 * w[0], w[0]))
        )
        self.last = nn.Conv2d(w[0], 1, 1)
        nn.init.zeros_(self.last.weight)
        self.last.bias = nn.Parameter(torch.zeros(1))

    def make_first(self, width: int) -> nn.Module:
        return double(2, width)

    def make_down(self, *w: int) -> list[nn.Module]:
        return [double(before, after) for before, after in pairwise(w)]

    def enter(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return the skip connection of the last level, and the input of the next."""
        x = self.first(images)
        return x, x

    def forward(self, images: Tensor) -> Tensor:
        height, width = images.shape[-2:]
        images = F.pad(images, (0, -width % 2**LEVELS, 0, -height % 2**LEVELS), mode="replicate")
        skip, x = self.enter(images)
        kept = [skip]
        for block in self.down:
            x = block(F.max_pool2d(x, 2))
            kept.append(x)
        x = kept.pop()
        for block in self.up:
            skip = kept.pop()
            above = F.interpolate(x, size=skip.shape[-2:], mode="bilinear", align_corners=True)
            x = block(torch.cat((skip, above), 1))
        change: Tensor = self.last(x)
        return change[..., :height, :width]


class ThreeImageNet(ImageNet):
    """Map B x 3 x H x W (reconstruction, uncorrected image, metal): the network of DuDoNet++, its wiring assumed.

    It has three stems: reconstruction with metal, uncorrected image, metal. The last two are added and concatenated
    with the first; the skip connection of the last level carries the first alone.
    """

    def make_first(self, width: int) -> nn.Module:
        return nn.ModuleList((double(2, width), double(1, width), double(1, width)))

    def make_down(self, *w: int) -> list[nn.Module]:
        return [double(2 * w[0], w[1]), *super().make_down(*w[1:])]

    def enter(self, images: Tensor) -> tuple[Tensor, Tensor]:
        reconstruction, measured, metal = images.unbind(1)
        assert isinstance(self.first, nn.ModuleList)
        a = self.first[0](torch.stack((reconstruction, metal), 1))
        b = self.first[1](measured[:, None]) + self.first[2](metal[:, None])
        return a, torch.cat((a, b), 1)
