"""Residual blocks for training: fixed statistics are folded into the convolutions, others computed faster on CPUs.

Both convolution and normalisation receive gradients. Convolutions can use bfloat16, up to twice as fast on CPUs that
support it; all other operations keep their precision.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from acdnet.fast.batch_norm import applies, normalised_relu_conv, normalised_sum_relu
from acdnet.fast.replace import replace_modules
from acdnet.model.residual import ResidualBlock, down, up


class FoldedTrainingBlock(ResidualBlock):
    """A `ResidualBlock` with the same parameter names."""

    def __init__(self, block: ResidualBlock, bfloat16: bool) -> None:
        nn.Module.__init__(self)
        self.factor, self.short = block.factor, bfloat16
        self.conv1, self.norm1, self.conv2, self.norm2 = block.conv1, block.norm1, block.conv2, block.norm2

    def forward(self, x: Tensor) -> Tensor:
        z = self._convolved_twice(down(x, self.factor))
        if self.factor == 1 and applies(self.norm2, z):
            return normalised_sum_relu(z, self.norm2, x)
        f = self.norm2(z) if self.norm2.training else z
        return F.relu(x + up(f, self.factor, x))

    def _convolved_twice(self, x: Tensor) -> Tensor:
        """Compute conv, BN, ReLU, conv."""
        first, second = self._parameters_of(self.conv1, self.norm1, x), self._parameters_of(self.conv2, self.norm2, x)
        z = F.conv2d(x.to(first[0]), *first, padding=1).to(x.dtype)
        if applies(self.norm1, x):
            return normalised_relu_conv(z, self.norm1, *second)
        z = F.relu(self.norm1(z) if self.norm1.training else z)
        return F.conv2d(z.to(second[0]), *second, padding=1).to(x.dtype)

    def _parameters_of(self, conv: nn.Conv2d, norm: nn.BatchNorm2d, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return weight and bias of a convolution, with the normalisation folded in if its statistics are fixed."""
        assert conv.bias is not None
        dtype = torch.bfloat16 if self.short and self.training else x.dtype
        if norm.training:
            weight, bias = conv.weight, conv.bias.detach() + 0.0 * conv.bias  # gradient 0: it has no effect
        else:
            weight, bias = _folded(conv, norm)
        return weight.to(dtype), bias.to(dtype)


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
