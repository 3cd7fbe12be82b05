"""Initial weights with which the untrained network already decomposes Y into X + A.

With the published initial weights A is far smaller than the artifact, blurred and never negative. The X-steps then mix
half of Y with its streaks into the image, and the proximal networks have to remove them again in every stage. Here one
kernel of the dictionary is a single bright pixel and one a single dark pixel, all others are small, the steps in M are
full steps, and all proximal networks start as the identity (followed by ReLU, thresholds, rows of norm one). Y is then
close to X + A in every stage, and training refines this. The architecture is unchanged. X starts as the first image
plus half of the dark streaks, since the first A of the start is never negative.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from acdnet.model.acdnet import ACDNet
from acdnet.model.prox import ProxK, ProxM
from acdnet.model.residual import ResidualBlock
from acdnet.model.stage import DICTIONARY_SCALE, STEP_SCALE

SMALL = 1.0
"""Sum of each other kernel, a tenth of that of the single pixels; every other one is negative."""
M_THRESHOLD = 0.02
TAU = 0.1


@torch.no_grad()
def initialise_as_solver(model: ACDNet) -> ACDNet:
    """Set these weights in a new model and return it."""
    for kernels in (model.D, model.start.D0):
        _set_kernels(kernels)
    half = max(1, model.config.N // 2)  # maps whose mixed kernels have the same sign share one step
    model.start.eta_M.fill_(STEP_SCALE)
    model.start.tau.fill_(TAU)
    for stage in model.stages:
        stage.eta_M.fill_(STEP_SCALE / half)  # type: ignore[operator]
    for module in model.modules():
        match module:
            case ResidualBlock():
                module.norm2.weight.zero_()
            case ProxM():
                module.tau.fill_(M_THRESHOLD)
            case ProxK():
                _zero(module.linear2)
    return model


def _set_kernels(kernels: Tensor) -> None:
    """Make the first two kernels single pixels, bright and dark, and alternate the signs of all kernels."""
    centre = kernels.shape[-1] // 2
    kernels.mul_(SMALL)
    kernels[:2] = 0.0
    kernels[:2, centre, centre] = DICTIONARY_SCALE
    kernels[1::2] *= -1.0


def _zero(layer: nn.Linear) -> None:
    layer.weight.zero_()
    layer.bias.zero_()
