"""Values to begin training with, other than the published ones: the untrained network is a plain solver of the model.

With the published values every kernel of D is positive, the start looks at relu(Y - X) alone, and A begins far smaller
than the artifact; a network trained from there may leave dark streaks in the residual (`benchmarks/explained.py`
shows it). Here every other kernel is negative and the kernels are larger, so that A can have either sign from the
first step; and all proximal networks begin as the identity (then ReLU, thresholds, rows of norm one). The network is
the same.
"""

from __future__ import annotations

import torch
from torch import nn

from acdnet.model.acdnet import ACDNet
from acdnet.model.prox import ProxK, ProxM
from acdnet.model.stage import STEP_SCALE
from acdnet.model.trunk import ResidualBlock

START_SCALE = 4.0
"""Kernels of D0 have the sum 4 / 10: an M-step of size one is just below what would overshoot with six of them."""
SCALE = 2.0
"""The same for D, whose kernels K mixes to larger sums."""
M_THRESHOLD = 0.1


@torch.no_grad()
def as_solver(model: ACDNet) -> ACDNet:
    """Set these values in a new model; return it."""
    signs = torch.tensor([1.0, -1.0]).repeat(len(model.D))[: len(model.D), None, None]
    model.D.mul_(SCALE * signs)
    model.start.D0.mul_(START_SCALE * signs[: len(model.start.D0)])
    model.start.eta_M.fill_(STEP_SCALE)
    for module in model.modules():
        match module:
            case ResidualBlock():
                module.norm2.weight.zero_()
            case ProxM():
                module.tau.fill_(M_THRESHOLD)
            case ProxK():
                _forget(module.linear2)
    return model


def _forget(layer: nn.Linear) -> None:
    layer.weight.zero_()
    layer.bias.zero_()
