r"""Filtered back-projection of a full turn of fan-beam views.

With p the projections, D the pitch of the bins at the centre and V views:

    benchmark   pi/V  sum over views of  (p * h)(s) / U          no cosine weight
    textbook    pi/V  sum over views of  (p cos(gamma) * h)(s) / U^2

`soft` is `textbook` with a Hann window on the ramp, like soft-tissue kernels. h is the ramp |f| / D. A full turn
measures every line twice: hence pi/V and not 2 pi/V.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, get_args

import numpy as np
import torch
from scipy.fft import next_fast_len
from torch import Tensor

from acdnet.physics.geometry import FanBeam
from acdnet.physics.projector import back_project

Variant = Literal["benchmark", "textbook", "soft"]

BENCHMARK_ZERO = 0.26
"""The benchmark's ramp at frequency zero, in units of its first frequency; it sets the mean of an image."""


def fbp(sinograms: Tensor, geometry: FanBeam, variant: Variant = "textbook") -> Tensor:
    """Reconstruct ... x views x bins line integrals to ... x size x size images in 1/cm."""
    if variant not in get_args(Variant):
        raise ValueError(f"no variant {variant!r}; there are {', '.join(get_args(Variant))}")
    if variant == "benchmark":
        filtered, power = ramp(sinograms, geometry, variant), 1
    else:
        cosine = torch.from_numpy(np.cos(np.arctan(geometry.positions / geometry.source))).to(sinograms)
        filtered, power = ramp(sinograms * cosine, geometry, variant), 2
    return back_project(filtered, geometry, power) * (np.pi / geometry.views)


def ramp(sinograms: Tensor, geometry: FanBeam, variant: Variant = "textbook") -> Tensor:
    """Filter every view with the ramp: a linear convolution along the detector."""
    bins = geometry.bins
    length = next_fast_len(2 * bins - 1, real=True)
    spectrum = torch.from_numpy(_kernel(bins, length, variant)).to(sinograms)
    pitch_cm = geometry.pitch * geometry.pixel_cm
    filtered = torch.fft.irfft(torch.fft.rfft(sinograms, length) * spectrum, length)
    kept: Tensor = filtered[..., :bins]
    return kept / pitch_cm


@lru_cache(maxsize=16)
def _kernel(bins: int, length: int, variant: Variant) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the spectrum of the ramp for a transform of `length`; its taps reach from 1 - bins to bins - 1."""
    taps = np.arange(1 - bins, bins)
    if variant == "benchmark":  # the ramp is sampled in frequency, at the length 2 bins - 1
        count = 2 * bins - 1
        frequencies = np.abs(np.fft.fftfreq(count))
        frequencies[0] = BENCHMARK_ZERO * frequencies[1]
        kernel = np.fft.fftshift(np.fft.ifft(frequencies).real)
    else:  # the band-limited ramp, sampled in space: its mean is right
        kernel = np.zeros(len(taps))
        odd = taps % 2 == 1
        kernel[odd] = -1.0 / (np.pi * taps[odd]) ** 2
        kernel[taps == 0] = 0.25
    around_zero = np.zeros(length)
    around_zero[taps % length] = kernel
    spectrum = np.fft.rfft(around_zero).real
    return spectrum * np.cos(np.pi * np.fft.rfftfreq(length)) ** 2 if variant == "soft" else spectrum
