"""Values to begin training with, other than the published ones: the untrained network already takes Y apart.

With the published values A begins far smaller than the artifact, blurred and never negative. The X-steps then mix half
of Y, streaks and all, into the image, which the proximal networks have to clean anew in every stage
(`benchmarks/explained.py` shows what A leaves). Here one kernel of the dictionary is a single bright pixel
and one a single dark pixel, all others are small, steps in M go all the way, and all proximal networks begin as the
identity (then ReLU, thresholds, rows of norm one). Y then is nearly X + A in every stage, and whatever is learnt
refines that. The network is the same. X begins as the first image but for half of the dark streaks, which the start,
whose first A is never negative, lets in.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from acdnet.model.acdnet import ACDNet
from acdnet.model.prox import ProxK, ProxM
from acdnet.model.stage import DICTIONARY_SCALE, STEP_SCALE
from acdnet.model.trunk import ResidualBlock

SMALL = 1.0
"""Sum of the other kernels (a tenth of that of a single pixel), every other one negative."""
M_THRESHOLD = 0.02
TAU = 0.1


@torch.no_grad()
def as_solver(model: ACDNet) -> ACDNet:
    """Set these values in a new model; return it."""
    for kernels in (model.D, model.start.D0):
        _set_kernels(kernels)
    half = max(1, model.config.N // 2)  # of the maps share each sign once K has mixed their kernels, and so the step
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
                _forget(module.linear2)
    return model


def _set_kernels(kernels: Tensor) -> None:
    """Make the first two kernels single pixels, bright and dark, and let the signs of all alternate."""
    centre = kernels.shape[-1] // 2
    kernels.mul_(SMALL)
    kernels[:2] = 0.0
    kernels[:2, centre, centre] = DICTIONARY_SCALE
    kernels[1::2] *= -1.0


def _forget(layer: nn.Linear) -> None:
    layer.weight.zero_()
    layer.bias.zero_()
