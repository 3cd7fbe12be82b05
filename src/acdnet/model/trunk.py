"""The trunk of a proximal network: residual blocks x <- relu(x + f(x)) with f = conv, BN, ReLU, conv, BN.

`ResidualBlock.forward` says what is computed. For training on CPUs, where batch normalisation of images stored channels
last is slow, `acdnet.model.trunk_cpu` computes the same for a whole trunk, with its gradient written out.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from acdnet.model.trunk_cpu import TrainingTrunk


class ResidualBlock(nn.Module):
    """One residual block, B x channels x H x W to the same."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        f = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(x + f)


class Trunk(nn.Sequential):
    """A chain of residual blocks.

    Training on a CPU takes the fast way unless `fast_on_cpu` is unset. With `frugal` set, that way keeps only the input of
    the trunk for the way back and computes the rest anew: a third of the memory, an eighth more time.
    """

    fast_on_cpu = True
    frugal = False

    def __init__(self, channels: int, blocks: int) -> None:
        super().__init__(*(ResidualBlock(channels) for _ in range(blocks)))

    def forward(self, x: Tensor) -> Tensor:
        if self.training and self.fast_on_cpu and x.device.type == "cpu":
            return self._train_on_cpu(x)
        out: Tensor = super().forward(x)
        return out

    def _train_on_cpu(self, x: Tensor) -> Tensor:
        layers = [layer for block in self for layer in (block.conv1, block.norm1, block.conv2, block.norm2)]
        weights = [weight for layer in layers for weight in (layer.weight, layer.bias)]
        y: Tensor
        y, *moments = TrainingTrunk.apply(x, self.frugal, *weights)
        for norm, mean, var in zip(self._norms(), moments[::2], moments[1::2], strict=True):
            _update_running(norm, mean, var, pixels=x.numel() // x.shape[1])
        return y

    def _norms(self) -> Iterator[nn.BatchNorm2d]:
        for block in self:
            yield block.norm1
            yield block.norm2


@torch.no_grad()
def _update_running(norm: nn.BatchNorm2d, mean: Tensor, var: Tensor, pixels: int) -> None:
    """Move the running statistics of evaluation mode, as `nn.BatchNorm2d` does."""
    assert norm.running_mean is not None and norm.running_var is not None and norm.momentum is not None
    assert norm.num_batches_tracked is not None
    norm.running_mean.lerp_(mean, norm.momentum)
    norm.running_var.lerp_(var * (pixels / (pixels - 1)), norm.momentum)
    norm.num_batches_tracked += 1
