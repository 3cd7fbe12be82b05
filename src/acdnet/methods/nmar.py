"""NMAR: normalised metal artifact reduction (Meyer et al. 2010).

A prior image of air, water and bone is projected. The sinogram divided by that of the prior is nearly flat, so that
interpolating the quotient over the trace does little harm; it is then multiplied back.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from acdnet.physics.measurement import Image, Measurement, attenuation
from acdnet.physics.projector import project
from acdnet.physics.trace import interpolate
from acdnet.units import WATER_MU

LEAST_BONE_MU = 1.2 * WATER_MU
"""Bone is at least this dense, whatever the clusters say."""

SIGMA, REACH = 1.0, 2
"""The image is smoothed before it is cut into tissues: a Gaussian of 5 x 5 pixels."""

LEAST_PATH = 0.1 * WATER_MU
"""Rays with less of the prior (a millimetre of water) run beside the body: their quotient is taken to be 1. Published
accounts add 1e-6 to the divisor instead; beside metal under the skin the quotient then explodes, the image with it."""

BINS = 2048
"""Cells of the histogram that is clustered."""


def nmar(measurement: Measurement) -> Image:
    """Normalise with a prior made from the LI image."""
    return _nmar(measurement, measurement.reconstruct(measurement.interpolated()))


def nmar_raw(measurement: Measurement) -> Image:
    """Normalise with a prior made from the image as scanned."""
    return _nmar(measurement, measurement.image)


def _nmar(measurement: Measurement, hu: Image) -> Image:
    prior = torch.from_numpy(make_prior(attenuation(hu).numpy(), measurement.metal)).to(measurement.device)
    S_prior = project(prior, measurement.geometry)
    S, trace = measurement.sinogram, measurement.trace
    quotient = torch.where(S_prior < LEAST_PATH, 1.0, S / S_prior.clamp(min=LEAST_PATH))
    return measurement.reconstruct(torch.where(trace, interpolate(quotient, trace) * S_prior, S))


def make_prior(mu: NDArray[np.float32], metal: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Cut an image in 1/cm into air (0), soft tissue (water) and bone (as it is); metal counts as water."""
    image = np.where(metal, np.float32(WATER_MU), mu)
    air_below, bone_above = thresholds(image)
    smooth = gaussian_filter(image, SIGMA, truncate=REACH / SIGMA, mode="nearest")
    tissue = np.where(smooth > bone_above, smooth, np.float32(WATER_MU))
    prior: NDArray[np.float32] = np.where(smooth < air_below, np.float32(0.0), tissue)
    return prior


def thresholds(image: NDArray[np.float32]) -> tuple[float, float]:
    """Find air | water | bone by clustering: the least value of the middle and of the top cluster of three."""
    air, bone = cluster(image, (0.0, WATER_MU, 2 * WATER_MU))
    return air, max(bone, LEAST_BONE_MU)


def cluster(image: NDArray[np.float32], start: tuple[float, float, float]) -> tuple[float, float]:
    """Part the values of an image into three by k-means from the given means; return the two bounds."""
    counts, edges = np.histogram(image, BINS)
    values = 0.5 * (edges[1:] + edges[:-1])
    means = np.array(start)
    for _ in range(100):
        nearest = np.searchsorted(0.5 * (means[1:] + means[:-1]), values)
        total = np.bincount(nearest, counts, 3)
        moved = np.where(total > 0, np.bincount(nearest, counts * values, 3) / np.maximum(total, 1), means)
        if np.allclose(moved, means, rtol=1e-6, atol=1e-7):
            break
        means = moved
    low, high = 0.5 * (means[1:] + means[:-1])
    return float(low), float(high)
