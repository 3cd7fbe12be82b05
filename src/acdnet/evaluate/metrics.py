"""Scores of an image against the truth, without the metal: three conventions, always given together.

`window` is the honest one and our headline. `paper` is that behind the tables of the paper: each image is stretched
from its own minimum and maximum to 8 bits, so that one bright pixel moves the score by several dB; it serves to
compare with those tables and for nothing else. `hu` are errors in Hounsfield units by region.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_fill_holes, correlate1d, distance_transform_edt, uniform_filter

from acdnet.units import mu_from_hu

Image = NDArray[np.float32]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]

WINDOW_MU = 0.5
"""Upper end of the scored window in 1/cm; the lower end is 0 (air)."""

BODY_HU = -500.0
"""The body is what lies above, and all that it encloses, such as lungs."""
SOFT_TISSUE_HU = (-200.0, 200.0)
BONE_HU = 200.0
RING = 10
"""Width in pixels of the ring round the metal."""

SSIM_SIGMA, SSIM_REACH = 1.5, 5
SSIM_K = (0.01, 0.03)
SSIM_SIDE = 256
"""Wang's SSIM makes images smaller until their short side is about this many pixels."""


@dataclass(frozen=True)
class Scores:
    """The three conventions for one image. A region without pixels scores NaN."""

    window_psnr: float
    window_ssim: float
    paper_psnr: float
    paper_ssim: float
    rmse: dict[str, float]
    """HU by region: body, soft, bone, ring."""
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
    """Peak signal-to-noise ratio in dB of the window 0 .. 0.5 / cm, over all pixels, metal set to zero in both."""
    return _psnr(_windowed(hu, metal), _windowed(truth_hu, metal))


def regions(truth_hu: Image, metal: Mask) -> dict[str, Mask]:
    """Return where the errors in HU are taken: body, soft tissue, bone, and a ring round the metal; no metal in any."""
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
    """Root mean square error in HU over a region; NaN where it is empty."""
    return float(np.sqrt(np.mean(_difference(hu, truth_hu, region) ** 2))) if region.any() else float("nan")


def hu_mae(hu: Image, truth_hu: Image, region: Mask) -> float:
    """Mean absolute error in HU over a region; NaN where it is empty."""
    return float(np.mean(np.abs(_difference(hu, truth_hu, region)))) if region.any() else float("nan")


def _difference(hu: Image, truth_hu: Image, region: Mask) -> Floats:
    return np.asarray(hu[region].astype(np.float64) - truth_hu[region])


def _windowed(hu: Image, metal: Mask) -> Floats:
    mu = np.clip(mu_from_hu(hu.astype(np.float64)), 0.0, WINDOW_MU)
    return np.where(metal, 0.0, mu / WINDOW_MU)


def _stretched(hu: Image, metal: Mask) -> Floats:
    """Stretch an image, metal included, from its own range to 8 bits; then take the metal out."""
    mu = np.clip(mu_from_hu(hu.astype(np.float64)), 0.0, WINDOW_MU)
    low, high = mu.min(), mu.max()
    eight_bits = np.round((mu - low) / max(high - low, 1e-12) * 255.0) / 255.0
    return np.where(metal, 0.0, eight_bits)


def _psnr(image: Floats, truth: Floats) -> float:
    error = float(np.mean((image - truth) ** 2))
    return float("inf") if error == 0 else -10.0 * float(np.log10(error))


def _ssim(image: Floats, truth: Floats) -> float:
    """Mean structural similarity (Wang 2004): Gaussian of 11 x 11 and sigma 1.5, range 1, where it fits."""
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
    """Average and sub-sample as Wang's script does before SSIM, by the factor that suits the size."""
    factor = max(1, int(min(image.shape) / SSIM_SIDE + 0.5))
    if factor == 1:
        return image
    after = 0 if factor % 2 else -1  # the window of an even filter reaches one pixel further to the right
    return np.asarray(uniform_filter(image, factor, mode="reflect", origin=after)[::factor, ::factor])
