"""The network in the image that the dual-domain methods share: a U-Net of five levels."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from acdnet.config import DualConfig

LEVELS = 4
"""Times that the image is halved."""


def double(before: int, after: int) -> nn.Sequential:
    """Make two convolutions with batch normalisation: by the slice's own statistics, as in training, where it is alone.

    Fixed statistics would be others than those it learnt with.
    """
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1),
        nn.BatchNorm2d(after, track_running_stats=False),
        nn.ReLU(inplace=True),
        nn.Conv2d(after, after, 3, padding=1),
        nn.BatchNorm2d(after, track_running_stats=False),
        nn.ReLU(inplace=True),
    )


class ImageNet(nn.Module):
    """B x 2 x H x W in, the change of the image out. It begins with no change at all."""

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
        """Return what the last level up is given again, and what goes down."""
        x = self.first(images)
        return x, x

    def forward(self, images: Tensor) -> Tensor:
        height, width = images.shape[-2:]
        images = F.pad(images, (0, -width % 2**LEVELS, 0, -height % 2**LEVELS), mode="replicate")
        again, x = self.enter(images)
        kept = [again]
        for block in self.down:
            x = block(F.max_pool2d(x, 2))
            kept.append(x)
        x = kept.pop()
        for block in self.up:
            beside = kept.pop()
            above = F.interpolate(x, size=beside.shape[-2:], mode="bilinear", align_corners=True)
            x = block(torch.cat((beside, above), 1))
        change: Tensor = self.last(x)
        return change[..., :height, :width]


class ThreeImageNet(ImageNet):
    """B x 3 x H x W in (reconstruction, measured image, metal): DuDoNet++'s, whose wiring is assumed.

    Three stems of their own: reconstruction with metal, measured image, metal. The last two are added; together with
    the first they go down, and the first alone is seen again by the last level up.
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
