r"""Trace fit: what the metal adds to its rays is fitted and taken off; what the rays then still tell is kept.

LI throws away whatever was measured in the trace. Yet much of it is sound: with P the path through metal, L = LI(p)
and d = p - L, what hardening, blur and clipping of the metal do to a ray is smooth in P and L, and is fitted on the
trace, robustly, by few terms (s is the longest path):

    d ~ x_1 + x_2 P + sum_k x_k exp(-P / s_k) + x_6 P L + x_7 P exp(-3 P / s) L        s_k = s / 2, s / 4, s / 8

What remains of d is tissue that LI missed, and noise. A Wiener filter keeps the part r that neighbouring rays agree
on. Where rays ended in the metal there is nothing to keep, so that the slice decides how much of r is added:

    X = FBP(L) + lambda FBP(r),  lambda in [0, 1] the largest with (nearly) the smoothest tissue

FBP(r) is made of every other ray, on pixels twice as wide: quick, and without its finest detail, much of it noise.
The constants were chosen on simulated pairs of the clinical protocol, by the RMSE of soft tissue.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, uniform_filter
from torch import Tensor
from torch.nn import functional as F

from acdnet.physics.fbp import Variant, fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.measured import Measured
from acdnet.physics.projector import project
from acdnet.units import WATER_MU

ROUNDS = 3
"""Of weighted least squares: rays that the terms do not describe count less in the next round."""
CAUCHY = 2 * 1.4826
"""Medians of the absolute residual (1.4826 of them are a standard deviation) at which a ray counts half."""
FALLING, FALLING_WITH_TISSUE = (2, 4, 8), 3
"""How fast terms fall with the path: so many times e on the longest one."""
NEIGHBOURS, AROUND = (3, 5), (33, 5)
"""Views and bins: rays that are averaged, and rays over which the powers of signal and noise are."""
NOISE_WEIGHT = 6.0
"""Where there are no raw data, noise of neighbouring rays is not independent: they were projected from one image."""
SHARES = np.linspace(0.0, 1.0, 11, dtype=np.float32)
"""Values of lambda that are tried."""
NEARLY = 1.01
"""Tissue is as good as smoothest with one per cent more: grain alone makes the exact minimum too small."""
TISSUE_HU, CLIP_HU = (-300.0, 200.0), 300.0
"""Tissue that takes part, and the HU beyond which edges count no more."""
SMOOTH_PIXELS = 0.75
"""Against grain, before steps are measured."""
AWAY = 3
"""Side of a square in wide pixels: tissue with metal in its square does not take part in the choice of lambda."""

Array = NDArray[np.float32]


def tracefit(measured: Measured) -> Array:
    """Fit the metal's part of the trace, take it off and reconstruct."""
    L = measured.interpolated()
    if not (measured.metal.any() and measured.trace.any()):
        return measured.reconstruct(L)
    P = project(torch.from_numpy(measured.metal.astype(np.float32)), measured.geometry)
    r = kept(fit_residual(measured.sinogram - L, P, L, measured.trace), measured.trace.numpy())
    li, more = measured.reconstruct(L), smooth_fbp(torch.from_numpy(r), measured.geometry, measured.variant)
    wide = more.shape
    lam = share(resized(li, wide), more, resized(measured.metal.astype(np.float32), wide) > 0)
    return np.asarray(li + lam * resized(more, li.shape))


def smooth_fbp(r: Tensor, geometry: FanBeam, variant: Variant) -> Array:
    """Reconstruct, in HU, rays that were averaged with their neighbours: every other one, on pixels twice as wide."""
    if geometry.views % 16 or geometry.bins % 2 == 0 or geometry.size < 4:  # half of them would be no fan
        return np.asarray(fbp(r, geometry, variant).numpy() * (1000.0 / WATER_MU), np.float32)
    size = (geometry.size + 1) // 2  # below: views by pairs, and bins so that the central one is among them
    r = (0.5 * (r[0::2] + r[1::2]))[:, geometry.bins // 2 % 2 :: 2].contiguous()
    half = replace(
        geometry,
        size=size,
        pixel_cm=geometry.pixel_cm * geometry.size / size,
        views=r.shape[0],
        bins=r.shape[1],
        bin_cm=2 * geometry.bin_cm,
    )
    return np.asarray(fbp(r, half, variant).numpy() * (1000.0 / WATER_MU), np.float32)


def resized(image: Array, size: tuple[int, ...]) -> Array:
    """Bring an image of the same field to other pixels."""
    resized = F.interpolate(torch.from_numpy(image)[None, None], size, mode="bilinear", antialias=True)
    return np.asarray(resized[0, 0].numpy())


def fit_residual(d: Tensor, P: Tensor, L: Tensor, trace: Tensor) -> Array:
    """Return what the terms leave of d on the trace; 0 outside."""
    P, L, d = (values[trace].double() for values in (P, L, d))
    s = max(float(P.max()), 1e-6)
    falling = (torch.exp(-P * k / s) for k in FALLING)
    A = torch.stack([torch.ones_like(P), P, *falling, P * L, P * torch.exp(-FALLING_WITH_TISSUE * P / s) * L], 1)
    left = _robust_residual(A / A.abs().mean(0).clamp(min=1e-12), d)
    found = torch.zeros(trace.shape)
    found[trace] = left.float()
    return found.numpy()


def _robust_residual(A: Tensor, d: Tensor) -> Tensor:
    """Return d - A x, with x by least squares under Cauchy's weights; a small ridge settles terms that are alike."""
    weight, left = torch.ones_like(d), d
    for _ in range(ROUNDS):
        AtA = A.T @ (A * weight[:, None])
        AtA.diagonal().add_(1e-10 * AtA.diagonal().max())
        left = d - A @ torch.linalg.solve(AtA, A.T @ (weight * d))
        scale = CAUCHY * left.abs().median().clamp(min=1e-6)
        weight = 1 / (1 + (left / scale).square())
    return left


def kept(left: Array, trace: NDArray[np.bool_]) -> Array:
    """Return what neighbouring rays of the trace agree on, less the more they differ (Wiener)."""
    inside = np.maximum(_mean(trace.astype(np.float32), NEIGHBOURS), 1e-3)
    smooth = np.where(trace, _mean(left, NEIGHBOURS) / inside, 0.0)
    noise = _mean((left - smooth) ** 2, AROUND) * (NOISE_WEIGHT / np.prod(NEIGHBOURS))
    signal = np.maximum(_mean(smooth**2, AROUND), 1e-9)
    return np.asarray(np.maximum(0.0, 1.0 - noise / signal) * smooth, np.float32)


def _mean(values: Array, size: tuple[int, int]) -> Array:
    """Average over neighbours; the last view is beside the first."""
    return np.asarray(uniform_filter(values, size, mode=("wrap", "nearest")), np.float32)


def share(image: Array, addition: Array, metal: NDArray[np.bool_]) -> np.float32:
    """Choose how much of an addition to take: as much as leaves the tissue nearly as smooth as it can become."""
    near = uniform_filter(metal.astype(np.float32), AWAY) > 1e-6
    tissue = ((image > TISSUE_HU[0]) & (image < TISSUE_HU[1]) & ~near)[:-1, :-1]
    if not tissue.any():
        return np.float32(0.0)
    image, addition = (gaussian_filter(part, SMOOTH_PIXELS) for part in (image, addition))
    rough = np.array([_roughness(image + part * addition, tissue) for part in SHARES])
    return np.float32(SHARES[np.flatnonzero(rough <= rough.min() * NEARLY)[-1]])


def _roughness(image: Array, where: NDArray[np.bool_]) -> float:
    """Return the total variation."""
    image = np.clip(image, -CLIP_HU, CLIP_HU)
    steps = np.abs(np.diff(image, axis=0))[:, :-1] + np.abs(np.diff(image, axis=1))[:-1]
    return float(steps[where].mean())
