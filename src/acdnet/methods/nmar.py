"""NMAR: normalised metal artifact reduction (Meyer et al. 2010).

A prior image of air, water and bone is projected. The sinogram divided by that of the prior is nearly constant, so that
interpolating the quotient over the trace adds few artifacts. It is then multiplied by the sinogram of the prior.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.ndimage import gaussian_filter

from acdnet.physics.measurement import Measurement, attenuation
from acdnet.physics.projector import project
from acdnet.physics.trace import interpolate
from acdnet.units import WATER_MU, Image, Mask

LEAST_BONE_MU = 1.2 * WATER_MU
"""Lower limit of the bone threshold."""

SIGMA, REACH = 1.0, 2
"""The Gaussian of 5 x 5 pixels that smooths the image before thresholding."""

LEAST_PATH = 0.1 * WATER_MU
"""Rays with a shorter path through the prior (1 mm of water) miss the body; their quotient is 1. Adding 1e-6 to the
divisor instead, as in published descriptions, makes the quotient explode next to metal under the skin."""

BINS = 2048
"""Bins of the clustered histogram."""


def nmar(measurement: Measurement) -> Image:
    """Normalise by a prior made from the LI image."""
    return _nmar(measurement, measurement.reconstruct(measurement.interpolated()))


def nmar_raw(measurement: Measurement) -> Image:
    """Normalise by a prior made from the uncorrected image."""
    return _nmar(measurement, measurement.image)


def _nmar(measurement: Measurement, hu: Image) -> Image:
    prior = torch.from_numpy(make_prior(attenuation(hu).numpy(), measurement.metal)).to(measurement.device)
    S_prior = project(prior, measurement.geometry)
    S, trace = measurement.sinogram, measurement.trace
    quotient = torch.where(S_prior < LEAST_PATH, 1.0, S / S_prior.clamp(min=LEAST_PATH))
    return measurement.reconstruct(torch.where(trace, interpolate(quotient, trace) * S_prior, S))


def make_prior(mu: Image, metal: Mask) -> Image:
    """Segment an image in 1/cm into air (0), soft tissue (water) and bone (unchanged); metal becomes water."""
    image = np.where(metal, np.float32(WATER_MU), mu)
    air_below, bone_above = thresholds(image)
    smooth = gaussian_filter(image, SIGMA, truncate=REACH / SIGMA, mode="nearest")
    tissue = np.where(smooth > bone_above, smooth, np.float32(WATER_MU))
    prior: Image = np.where(smooth < air_below, np.float32(0.0), tissue)
    return prior


def thresholds(image: Image) -> tuple[float, float]:
    """Find the thresholds between air, water and bone by clustering."""
    air, bone = cluster(image, (0.0, WATER_MU, 2 * WATER_MU))
    return air, max(bone, LEAST_BONE_MU)


def cluster(image: Image, start: tuple[float, float, float]) -> tuple[float, float]:
    """Cluster the values of an image by k-means with three initial means; return the two thresholds."""
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
