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

LAST_STAGES = 3
SMOOTH_PIXELS = 2.0
LEAST_HU, RESIDUAL_SHARE, SPREAD_SHARE = 1.8, 0.9, 3.9
"""The expected error: so many HU, and for each HU of residual and of spread; fitted to the mean |error| of 20 held-out
pairs of the clinical protocol with the default model."""


def expected_error(found: Decomposition, Y: torch.Tensor, metal: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the expected error of a slice in HU; 0 in the metal, which is copied."""
    X, A = found.image[0, 0], found.artifacts[-1][0, 0]
    residual = (Y[0, 0] - X - A).abs().cpu().numpy()
    last = torch.stack([*(image[0, 0] for image in found.images[-LAST_STAGES:]), X])
    spread = last.std(0).cpu().numpy()
    told = LEAST_HU + HU_PER_UNIT * (RESIDUAL_SHARE * residual + SPREAD_SHARE * spread)
    weight = gaussian_filter((~metal).astype(np.float32), SMOOTH_PIXELS)
    smooth = gaussian_filter(np.where(metal, 0.0, told).astype(np.float32), SMOOTH_PIXELS) / np.maximum(weight, 1e-3)
    return np.asarray(np.where(metal, 0.0, smooth), np.float32)
