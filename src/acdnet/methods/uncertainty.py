"""The error that a model expects, in HU, for every pixel.

It is a weighted sum of two smoothed quantities: the residual Y - X - A, which the model explains neither as image nor
as artifact, and the spread of the image over the last stages. `python -m benchmarks.trust` measures how well it ranks
pixels by their true error.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from acdnet.model.acdnet import Decomposition
from acdnet.physics.filters import gaussian
from acdnet.units import HU_PER_UNIT, Image, Mask

LAST_STAGES = 3
SMOOTH_PIXELS = 2.0
RESIDUAL_SHARE, SPREAD_SHARE = 1.3, 3.2
"""HU of expected error per HU of residual and of spread; fitted to the mean |error| of the default model on 26 held-out
pairs of the clinical protocol (`python -m benchmarks.trust --fit`)."""


def expected_error(found: Decomposition, Y: Tensor, metal: Mask) -> Image:
    """Return the expected error of a slice in HU; 0 in the metal."""
    residual, spread = signs(found, Y, metal)
    return np.where(metal, np.float32(0.0), RESIDUAL_SHARE * residual + SPREAD_SHARE * spread).astype(np.float32)


def signs(found: Decomposition, Y: Tensor, metal: Mask) -> tuple[Image, Image]:
    """Return the residual and the spread of the last stages in HU, smoothed outside the metal."""
    X, A = found.image[0, 0], found.artifacts[-1][0, 0]
    last = torch.stack([*(image[0, 0] for image in found.images[-LAST_STAGES:]), X])
    outside = torch.from_numpy(~metal).to(X.device)
    sigmas = (SMOOTH_PIXELS, SMOOTH_PIXELS)
    weight = gaussian(outside.float(), sigmas).clamp(min=1e-3)

    def smooth(units: Tensor) -> Image:
        return np.asarray((gaussian(torch.where(outside, HU_PER_UNIT * units, 0.0), sigmas) / weight).cpu().numpy())

    return smooth((Y[0, 0] - X - A).abs()), smooth(last.std(0))
