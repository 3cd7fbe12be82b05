"""Residual blocks for training with fixed statistics: batch normalisation is folded into the convolutions.

Both receive gradients. Convolutions can use bfloat16, up to twice as fast on CPUs that support it; all other operations
keep their precision.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from acdnet.fast.replace import replace_modules
from acdnet.model.residual import ResidualBlock, down, up


class FoldedTrainingBlock(ResidualBlock):
    """A `ResidualBlock` with the same parameter names."""

    def __init__(self, block: ResidualBlock, bfloat16: bool) -> None:
        nn.Module.__init__(self)
        self.factor, self.short = block.factor, bfloat16
        self.conv1, self.norm1, self.conv2, self.norm2 = block.conv1, block.norm1, block.conv2, block.norm2

    def forward(self, x: Tensor) -> Tensor:
        inner = F.relu(self._normalised(self.conv1, self.norm1, down(x, self.factor)))
        return F.relu(x + up(self._normalised(self.conv2, self.norm2, inner), self.factor, x))

    def _normalised(self, conv: nn.Conv2d, norm: nn.BatchNorm2d, x: Tensor) -> Tensor:
        """Convolve and normalise, in one step if the statistics are fixed."""
        dtype = torch.bfloat16 if self.short and self.training else x.dtype
        if norm.training:
            assert conv.bias is not None
            bias = conv.bias.detach() + 0.0 * conv.bias  # gradient 0, else Adam would follow rounding errors
            normal: Tensor = norm(F.conv2d(x.to(dtype), conv.weight.to(dtype), bias.to(dtype), padding=1).to(x.dtype))
            return normal
        weight, bias = _folded(conv, norm)
        return F.conv2d(x.to(dtype), weight.to(dtype), bias.to(dtype), padding=1).to(x.dtype)


def fold_for_training(network: nn.Module, bfloat16: bool = False) -> None:
    """Replace all residual blocks of a network, in place."""
    replace_modules(network, ResidualBlock, lambda block: FoldedTrainingBlock(block, bfloat16))


def _folded(conv: nn.Conv2d, norm: nn.BatchNorm2d) -> tuple[Tensor, Tensor]:
    """Return weight and bias of a convolution with folded normalisation."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert conv.bias is not None
    scale = norm.weight * (norm.running_var + norm.eps).rsqrt()
    weight = conv.weight * scale[:, None, None, None]
    return weight, norm.bias + (conv.bias - norm.running_mean) * scale
