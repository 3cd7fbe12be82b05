"""The trunk of a proximal network: residual blocks x <- relu(x + f(x)) with f = conv, BN, ReLU, conv, BN.

Blocks on a coarser grid, x <- relu(x + up(f(down(x)))), have a larger receptive field at less cost. The paper has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Module = TypeVar("Module", bound=nn.Module)


def down(x: Tensor, factor: int) -> Tensor:
    """Average over squares of pixels, which may be incomplete at the edge."""
    if factor == 1:
        return x
    cut_off = any(side % factor for side in x.shape[-2:])
    return F.avg_pool2d(x, factor, ceil_mode=cut_off, count_include_pad=False)


def up(x: Tensor, factor: int, like: Tensor) -> Tensor:
    """Interpolate to pixels `factor` times smaller, at the size of `like`."""
    if factor == 1:
        return x
    fine = F.interpolate(x, scale_factor=factor, mode="bilinear", align_corners=False)
    return fine if fine.shape == like.shape else fine[..., : like.shape[-2], : like.shape[-1]]


class ResidualBlock(nn.Module):
    """One residual block, B x channels x H x W.

    On pixels `factor` times as wide, f has `factor` times as many inner channels, at 1 / `factor` of the cost.
    """

    def __init__(self, channels: int, factor: int = 1) -> None:
        super().__init__()
        self.factor = factor
        self.conv1 = nn.Conv2d(channels, factor * channels, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(factor * channels)
        self.conv2 = nn.Conv2d(factor * channels, channels, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        f = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(down(x, self.factor))))))
        return F.relu(x + up(f, self.factor, x))


class Trunk(nn.Sequential):
    """A chain of residual blocks, followed by `coarse` more on pixels 2, 4, 8 .. times as wide."""

    def __init__(self, channels: int, blocks: int, coarse: int = 0) -> None:
        factors = [1] * blocks + [2**b for b in range(1, coarse + 1)]
        super().__init__(*(ResidualBlock(channels, factor) for factor in factors))

    def blocks(self) -> Iterator[ResidualBlock]:
        """Iterate over the blocks."""
        for block in self:
            assert isinstance(block, ResidualBlock)
            yield block


def channels_last(module: Module) -> Module:
    """Store the weights in the layout that is fastest on CPUs and GPUs."""
    module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return module
