"""How far to trust a result, from what the model itself knows, as an expected error in HU for every pixel.

Two things tell: the residual of its own decomposition, Y - X - A (what it could explain neither as image nor as
artifact), and how much its image still moved over the last stages. Both are smoothed and added up. How well this ranks
pixels by their true error is measured by `benchmarks/trust.py`.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from acdnet.model.acdnet import Decomposition
from acdnet.units import HU_PER_UNIT

Image = NDArray[np.float32]
LAST_STAGES = 3
SMOOTH_PIXELS = 2.0
LEAST_HU, RESIDUAL_SHARE, SPREAD_SHARE = 0.0, 1.3, 3.2
"""The expected error: so many HU, and for each HU of residual and of spread; fitted to the mean |error| of 26 held-out
pairs of the clinical protocol with the default model, what it gives back included (`benchmarks/trust.py --fit` prints
them)."""


def expected_error(found: Decomposition, Y: torch.Tensor, metal: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the expected error of a slice in HU; 0 in the metal, which is copied."""
    residual, spread = signs(found, Y, metal)
    told = LEAST_HU + RESIDUAL_SHARE * residual + SPREAD_SHARE * spread
    return np.where(metal, np.float32(0.0), told).astype(np.float32)


def signs(found: Decomposition, Y: torch.Tensor, metal: NDArray[np.bool_]) -> tuple[Image, Image]:
    """Return the residual and the spread of the last stages in HU, smoothed outside the metal."""
    X, A = found.image[0, 0], found.artifacts[-1][0, 0]
    last = torch.stack([*(image[0, 0] for image in found.images[-LAST_STAGES:]), X])
    weight = np.maximum(gaussian_filter((~metal).astype(np.float32), SMOOTH_PIXELS), 1e-3)

    def smooth(units: torch.Tensor) -> Image:
        outside = np.where(metal, 0.0, HU_PER_UNIT * units.cpu().numpy()).astype(np.float32)
        return np.asarray(gaussian_filter(outside, SMOOTH_PIXELS) / weight, np.float32)

    return smooth((Y[0, 0] - X - A).abs()), smooth(last.std(0))
