r"""Trace fit: what the metal adds to its rays is fitted and taken off; what the rays then still tell is kept.

LI throws away whatever was measured in the trace. Yet much of it is sound. With n the projection of a prior image,
nothing at first, L = n + LI(p - n) is what rays would measure without metal, and P their path through metal. What
hardening, blur and clipping of the metal add, d = p - L, is smooth in P and L, and is fitted on the trace, robustly, by
few terms (s is the longest path):

    d ~ x_1 + x_2 P + sum_k x_k exp(-P / s_k) + x_6 P L + x_7 P exp(-3 P / s) L        s_k = s / 2, s / 4, s / 8

What remains of d is tissue that L missed, and noise. A Wiener filter keeps the part r that neighbouring rays agree
on. Where rays ended in the metal there is nothing to keep, so that the slice decides how much of r is added:

    X = FBP(L) + lambda FBP(r),  lambda in [0, 1] the largest with (nearly) the smoothest tissue

The prior is X itself with all tissue made water, as in NMAR, so that bones and air no longer have to be interpolated;
it is found in a few passes with every other ray, on pixels twice as wide. FBP(r) is made so in the end, too: quick, and
without its finest detail, much of it noise. The constants were chosen on simulated training pairs of the clinical
protocol, by the RMSE of soft tissue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, uniform_filter
from torch import Tensor
from torch.nn import functional as F

from acdnet.physics.fbp import Variant, fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.measured import Measured, attenuation, hounsfield
from acdnet.physics.projector import project
from acdnet.physics.trace import interpolate
from acdnet.units import WATER_MU

PASSES = 2
"""In which the prior is found; a third gains one per cent."""
WATER_HU, PRIOR_PIXELS = 417.0, 0.7
"""So far from water tissue is made water in the prior; what lies beyond is smoothed by so many wide pixels and kept."""
ROUNDS = 3
"""Of weighted least squares: rays that the terms do not describe count less in the next round."""
CAUCHY = 2 * 1.4826
"""Medians of the absolute residual (1.4826 of them are a standard deviation) at which a ray counts half."""
FALLING, FALLING_WITH_TISSUE = (2, 4, 8), 3
"""How fast terms fall with the path: so many times e on the longest one."""
NEIGHBOURS, AROUND = (3, 3), (33, 5)
"""Views and bins: rays that are averaged, and rays over which the powers of signal and noise are."""
NOISE_WEIGHT = 3.0
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


@dataclass(frozen=True)
class Rays:
    """What was measured, the path through metal in cm, and the trace: views x bins; and the metal, on the pixels."""

    p: Tensor
    P: Tensor
    trace: Tensor
    metal: NDArray[np.bool_]
    geometry: FanBeam
    variant: Variant


def tracefit(measured: Measured) -> Array:
    """Fit the metal's part of the trace, take it off and reconstruct."""
    if not (measured.metal.any() and measured.trace.any()):
        return measured.reconstruct(measured.interpolated())
    P = measured.path()
    all_ = Rays(measured.sinogram, P, measured.trace, measured.metal, measured.geometry, measured.variant)
    some = every_other(all_)
    n = torch.zeros_like(some.p)
    for _ in range(PASSES):
        n = project(prior(_first_image(some, n), some.metal), some.geometry)
    L = filled(all_, between(n, all_.geometry))
    r = kept(fit_residual(all_.p - L, P, L, all_.trace), all_.trace.numpy())
    image, addition = measured.reconstruct(L), _hu(fbp(thinned(torch.from_numpy(r)), some.geometry, some.variant))
    lam = share(resized(image, addition.shape), addition, some.metal)
    return np.asarray(image + lam * resized(addition, image.shape))


def _first_image(rays: Rays, n: Tensor) -> Array:
    """Return X in HU, for a prior whose projection is n."""
    L = filled(rays, n)
    r = kept(fit_residual(rays.p - L, rays.P, L, rays.trace), rays.trace.numpy())
    found = fbp(torch.stack([L, torch.from_numpy(r)]), rays.geometry, rays.variant)
    image, addition = hounsfield(found[0]), _hu(found[1])
    return np.asarray(image + share(image, addition, rays.metal) * addition)


def filled(rays: Rays, n: Tensor) -> Tensor:
    """Return L = n + LI(p - n) on the trace, and p elsewhere."""
    return torch.where(rays.trace, n + interpolate(rays.p - n, rays.trace), rays.p)


def prior(hu: Array, metal: NDArray[np.bool_]) -> Tensor:
    """Make all tissue water, and the metal; return 1/cm."""
    smooth = gaussian_filter(np.where(metal, np.float32(0.0), hu), PRIOR_PIXELS)
    return attenuation(np.where(np.abs(smooth) < WATER_HU, np.float32(0.0), smooth))


# every other ray, on pixels twice as wide -----------------------------------------------------------------------------


def every_other(rays: Rays) -> Rays:
    """Return the slice with half of its views, half of its bins and pixels twice as wide."""
    g = rays.geometry
    p, P, trace = (thinned(values) for values in (rays.p, rays.P, rays.trace.float()))
    size = (g.size + 1) // 2
    pixel_cm, bin_cm = g.pixel_cm * g.size / size, 2 * g.bin_cm
    if p.shape == rays.p.shape:  # they cannot be halved
        size, pixel_cm, bin_cm = g.size, g.pixel_cm, g.bin_cm
    half = replace(g, size=size, pixel_cm=pixel_cm, views=p.shape[0], bins=p.shape[1], bin_cm=bin_cm)
    metal = resized(rays.metal.astype(np.float32), (size, size)) > 0
    return Rays(p, P, trace > 0, metal, half, rays.variant)


def thinned(rays: Tensor) -> Tensor:
    """Average views by pairs, and take every other bin, the central one among them; a fan needs views by eights."""
    views, bins = rays.shape
    if views % 16 or bins % 2 == 0:
        return rays
    return (0.5 * (rays[0::2] + rays[1::2]))[:, bins // 2 % 2 :: 2].contiguous()


def between(rays: Tensor, geometry: FanBeam) -> Tensor:
    """Find all rays of a geometry between those that were left by `thinned`."""
    if rays.shape == geometry.sinogram_shape:
        return rays
    before, after = rays.roll(1, 0), rays.roll(-1, 0)
    views = torch.stack([0.25 * before + 0.75 * rays, 0.75 * rays + 0.25 * after], 1).flatten(0, 1)
    place = 0.5 * (torch.arange(geometry.bins) - geometry.bins // 2 % 2)
    left = place.floor().clamp(0, rays.shape[1] - 2).long()
    return torch.lerp(views[:, left], views[:, left + 1], (place - left).clamp(0.0, 1.0))


def resized(image: Array, size: tuple[int, ...]) -> Array:
    """Bring an image of the same field to other pixels."""
    found = F.interpolate(torch.from_numpy(image)[None, None], size, mode="bilinear", antialias=True)
    return np.asarray(found[0, 0].numpy())


def _hu(mu: Tensor) -> Array:
    """Return a difference of images in HU."""
    return np.asarray(mu.numpy() * (1000.0 / WATER_MU), np.float32)


# the fit --------------------------------------------------------------------------------------------------------------


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


# how much of it -------------------------------------------------------------------------------------------------------


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
