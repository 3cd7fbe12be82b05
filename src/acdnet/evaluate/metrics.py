"""Scores of an image against the truth, outside the metal, in three conventions.

`window` is the main convention: a fixed window. `paper` is that of the paper's tables: each image is stretched from its
own minimum and maximum to 8 bits, so that one bright pixel changes the score by several dB; use it only for comparison
with those tables. `hu` are errors in Hounsfield units by region.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_fill_holes, correlate1d, distance_transform_edt, uniform_filter

from acdnet.units import Image, Mask, mu_from_hu

Floats = NDArray[np.float64]

WINDOW_MU = 0.5
"""Upper end of the window in 1/cm; the lower end is 0 (air)."""

BODY_HU = -500.0
"""Threshold of the body, which includes enclosed regions such as lungs."""
SOFT_TISSUE_HU = (-200.0, 200.0)
BONE_HU = 200.0
RING = 10
"""Width of the ring around the metal in pixels."""

SSIM_SIGMA, SSIM_REACH = 1.5, 5
SSIM_K = (0.01, 0.03)
SSIM_SIDE = 256
"""Wang's SSIM downsamples images to about this many pixels along the short side."""


@dataclass(frozen=True)
class Scores:
    """The three conventions for one image. A region without pixels scores NaN."""

    window_psnr: float
    window_ssim: float
    paper_psnr: float
    paper_ssim: float
    rmse: dict[str, float]
    """In HU by region: body, soft, bone, ring."""
    mae: dict[str, float]


def score(hu: Image, truth_hu: Image, metal: Mask) -> Scores:
    """Score an image against the truth in all three conventions."""
    window = _windowed(hu, metal), _windowed(truth_hu, metal)
    paper = _stretched(hu, metal), _stretched(truth_hu, metal)
    areas = regions(truth_hu, metal)
    return Scores(
        _psnr(*window),
        _ssim(*window),
        _psnr(*paper),
        _ssim(*(_made_smaller(image) for image in paper)),
        {name: hu_rmse(hu, truth_hu, area) for name, area in areas.items()},
        {name: hu_mae(hu, truth_hu, area) for name, area in areas.items()},
    )


def window_psnr(hu: Image, truth_hu: Image, metal: Mask) -> float:
    """Return the PSNR in dB of the window 0 .. 0.5 / cm over all pixels, metal set to zero in both images."""
    return _psnr(_windowed(hu, metal), _windowed(truth_hu, metal))


def regions(truth_hu: Image, metal: Mask) -> dict[str, Mask]:
    """Return the regions of the errors in HU, without metal: body, soft tissue, bone, and a ring around the metal."""
    body = binary_fill_holes((truth_hu > BODY_HU) | metal) & ~metal
    low, high = SOFT_TISSUE_HU
    around = distance_transform_edt(~metal) <= RING if metal.any() else metal
    return {
        "body": body,
        "soft": (truth_hu >= low) & (truth_hu <= high) & ~metal,
        "bone": (truth_hu > BONE_HU) & ~metal,
        "ring": around & ~metal,
    }


def hu_rmse(hu: Image, truth_hu: Image, region: Mask) -> float:
    """Return the root mean square error in HU over a region; NaN if it is empty."""
    return float(np.sqrt(np.mean(_difference(hu, truth_hu, region) ** 2))) if region.any() else float("nan")


def hu_mae(hu: Image, truth_hu: Image, region: Mask) -> float:
    """Return the mean absolute error in HU over a region; NaN if it is empty."""
    return float(np.mean(np.abs(_difference(hu, truth_hu, region)))) if region.any() else float("nan")


def _difference(hu: Image, truth_hu: Image, region: Mask) -> Floats:
    return np.asarray(hu[region].astype(np.float64) - truth_hu[region])


def _windowed(hu: Image, metal: Mask) -> Floats:
    mu = np.clip(mu_from_hu(hu.astype(np.float64)), 0.0, WINDOW_MU)
    return np.where(metal, 0.0, mu / WINDOW_MU)


def _stretched(hu: Image, metal: Mask) -> Floats:
    """Stretch an image, including metal, from its own range to 8 bits; then set the metal to zero."""
    mu = np.clip(mu_from_hu(hu.astype(np.float64)), 0.0, WINDOW_MU)
    low, high = mu.min(), mu.max()
    eight_bits = np.round((mu - low) / max(high - low, 1e-12) * 255.0) / 255.0
    return np.where(metal, 0.0, eight_bits)


def _psnr(image: Floats, truth: Floats) -> float:
    error = float(np.mean((image - truth) ** 2))
    return float("inf") if error == 0 else -10.0 * float(np.log10(error))


def _ssim(image: Floats, truth: Floats) -> float:
    """Return the mean structural similarity (Wang 2004): Gaussian of 11 x 11 and sigma 1.5, range 1, valid pixels."""
    c1, c2 = (k**2 for k in SSIM_K)
    a, b = _blur(image), _blur(truth)
    var_a, var_b = _blur(image * image) - a * a, _blur(truth * truth) - b * b
    covariance = _blur(image * truth) - a * b
    similarity = (2 * a * b + c1) * (2 * covariance + c2) / ((a * a + b * b + c1) * (var_a + var_b + c2))
    return float(similarity.mean())


def _blur(image: Floats) -> Floats:
    taps = np.exp(-0.5 * (np.arange(-SSIM_REACH, SSIM_REACH + 1) / SSIM_SIGMA) ** 2)
    taps /= taps.sum()
    smooth = correlate1d(correlate1d(image, taps, 0), taps, 1)
    return np.asarray(smooth[SSIM_REACH:-SSIM_REACH, SSIM_REACH:-SSIM_REACH])


def _made_smaller(image: Floats) -> Floats:
    """Average and subsample as Wang's script does before SSIM."""
    factor = max(1, int(min(image.shape) / SSIM_SIDE + 0.5))
    if factor == 1:
        return image
    after = 0 if factor % 2 else -1  # an even filter extends one pixel further to the right
    return np.asarray(uniform_filter(image, factor, mode="reflect", origin=after)[::factor, ::factor])
