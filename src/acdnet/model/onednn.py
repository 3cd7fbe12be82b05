"""Convolution and ReLU in one pass on CPUs, by a call of oneDNN that torch's own compiler makes."""

from __future__ import annotations

import torch
from torch import Tensor, nn

THERE = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_convolution_pointwise")
"""Whether this build of torch has it; elsewhere the same is computed in two passes."""


def rectified(conv: nn.Conv2d, x: Tensor) -> Tensor:
    """Compute relu(conv(x)). What is not a number may become zero: whoever adds the result to x keeps it there."""
    if not THERE or x.dtype != torch.float32:
        plain: Tensor = conv(x).relu_()
        return plain
    how = conv.padding, conv.stride, conv.dilation, conv.groups
    done: Tensor = torch.ops.mkldnn._convolution_pointwise(x, conv.weight, conv.bias, *how, "relu", [], "")
    return done
