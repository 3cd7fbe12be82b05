"""Scores of an image against the truth, without the metal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from acdnet.units import mu_from_hu

WINDOW_MU = 0.5
"""Upper end of the scored window in 1/cm; the lower end is 0 (air)."""


def window_psnr(hu: NDArray[np.float32], truth_hu: NDArray[np.float32], metal: NDArray[np.bool_]) -> float:
    """Peak signal-to-noise ratio in dB of the window 0 .. 0.5 / cm, over all pixels, metal set to zero in both."""

    def windowed(image: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.where(metal, 0.0, np.clip(mu_from_hu(image.astype(np.float64)), 0.0, WINDOW_MU) / WINDOW_MU)

    error = float(np.mean((windowed(hu) - windowed(truth_hu)) ** 2))
    return float("inf") if error == 0 else -10.0 * float(np.log10(error))


def hu_rmse(hu: NDArray[np.float32], truth_hu: NDArray[np.float32], region: NDArray[np.bool_]) -> float:
    """Root mean square error in HU over a region."""
    difference = hu.astype(np.float64) - truth_hu
    return float(np.sqrt(np.mean(difference[region] ** 2)))
