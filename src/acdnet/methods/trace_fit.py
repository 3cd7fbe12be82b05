r"""Trace fit: fit and subtract the contribution of metal to its rays, and keep that of tissue.

LI discards all measurements in the trace, although many are usable. With n the projection of a prior image, initially
zero, L = n + LI(p - n) estimates the rays without metal; P is their path through metal. The contribution of metal,
d = p - L, is smooth in P and L. It is fitted robustly on the trace by a few terms (s is the longest path):

    d ~ x_1 + x_2 P + sum_k x_k exp(-P / s_k) + x_6 P L + x_7 P exp(-3 P / s) L        s_k = s / 2, s / 4, s / 8

The residual of d is tissue missing in L, and noise. A Wiener filter keeps the part r that neighbouring rays agree on.
Rays absorbed by the metal carry no information, so the share of r is chosen for each slice:

    X = FBP(L) + lambda FBP(r),  lambda in [0, 1] the largest with (nearly) the smoothest tissue

The prior is X with all tissue set to water, as in NMAR, so that bones and air need no interpolation. It is computed in
a few passes with half of the views and bins, on pixels twice as wide. The final FBP(r) is also computed at this
resolution; its finest detail is mostly noise. The constants minimise the RMSE of soft tissue on simulated training
pairs of the clinical protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from acdnet.physics.fbp import Variant, fbp
from acdnet.physics.filters import box_mean, gaussian
from acdnet.physics.geometry import FanBeam
from acdnet.physics.measurement import Measurement, by_geometry, prepare
from acdnet.physics.projector import project
from acdnet.physics.trace import interpolate
from acdnet.units import WATER_MU, Image, hu_from_mu, mu_from_hu

PASSES = 2
"""Passes that compute the prior; a third gains 1 %."""
WATER_HU, PRIOR_PIXELS = 417.0, 0.7
"""Tissue within this distance from 0 HU becomes water in the prior, after smoothing by this many wide pixels."""
ROUNDS = 3
"""Rounds of weighted least squares; rays with large residuals have less weight in the next round."""
CAUCHY = 2 * 1.4826
"""Multiple of the median absolute residual at which a ray has half weight; 1.4826 medians are a standard deviation."""
FALLING, FALLING_WITH_TISSUE = (2, 4, 8), 3
"""Decay rates of the exponential terms: factors of e over the longest path."""
NEIGHBOURS, AROUND = (3, 3), (33, 5)
"""Views and bins of the windows of the Wiener filter: for the signal, and for the powers of signal and noise."""
BORDERS = ("wrap", "nearest")
"""Borders of a sinogram: the last view is followed by the first."""
NOISE_WEIGHT = 3.0
"""Noise of neighbouring rays is correlated, since they are projected from an image."""
SHARES = np.linspace(0.0, 1.0, 11)
"""Candidate values of lambda."""
NEARLY = 1.01
"""Accepted roughness relative to the minimum: noise alone makes the lambda of the exact minimum too small."""
TISSUE_HU, CLIP_HU = (-300.0, 200.0), 300.0
"""Range of tissue that is evaluated, and the value at which edges are clipped."""
SMOOTH_PIXELS = 0.75
"""Smoothing against noise before the roughness is measured."""
AWAY = 3
"""Side of a square in wide pixels: tissue with metal inside this square is not evaluated."""


@dataclass(frozen=True)
class TraceRays:
    """Measured rays, path through metal in cm and trace, views x bins; and the metal as an image."""

    p: Tensor
    P: Tensor
    trace: Tensor
    metal: Tensor
    geometry: FanBeam
    variant: Variant


def trace_fit(measurement: Measurement) -> Image:
    """Fit and subtract the contribution of metal, and reconstruct."""
    return trace_fits([measurement])[0]


def trace_fits(measurements: Sequence[Measurement]) -> list[Image]:
    """Correct several slices; those of one geometry are processed together."""
    prepare(measurements)
    with_trace = [n for n, one in enumerate(measurements) if one.metal.any() and bool(one.trace.any())]
    images = {n: one.reconstruct(one.interpolated()) for n, one in enumerate(measurements) if n not in with_trace}
    for numbers in by_geometry([measurements[n] for n in with_trace]).values():
        alike = [with_trace[n] for n in numbers]
        images |= zip(alike, _fit([measurements[n] for n in alike]), strict=True)
    return [images[n] for n in range(len(measurements))]


def _fit(measurements: Sequence[Measurement]) -> list[Image]:
    full = [_rays(one) for one in measurements]
    half = [every_other(rays) for rays in full]
    n = [torch.zeros_like(rays.p) for rays in half]
    for _ in range(PASSES):
        priors = [prior(image, rays.metal) for image, rays in zip(_first_images(half, n), half, strict=True)]
        n = list(project(torch.stack(priors), half[0].geometry))
    images, residuals = [], []
    for one, rays, lines in zip(measurements, full, n, strict=True):
        L = filled(rays, between(lines, rays.geometry))
        images.append(one.reconstruct(L))
        residuals.append(thinned(kept(fit_residual(rays.p - L, rays.P, L, rays.trace), rays.trace)))
    r = _to_hu(_reconstructed(residuals, half))
    return [_with_share(image, part, rays) for image, part, rays in zip(images, r, half, strict=True)]


def _with_share(image: Image, r: Tensor, rays: TraceRays) -> Image:
    """Add lambda r, with r on wide pixels."""
    X = torch.from_numpy(image).to(r)
    lam = share(resized(X, r.shape), r, rays.metal)
    return np.asarray((X + lam * resized(r, X.shape)).cpu().numpy())


def _first_images(rays: Sequence[TraceRays], n: Sequence[Tensor]) -> list[Tensor]:
    """Return X in HU, given the projections n of the priors."""
    sinograms = []
    for one, lines in zip(rays, n, strict=True):
        L = filled(one, lines)
        sinograms.append(torch.stack([L, kept(fit_residual(one.p - L, one.P, L, one.trace), one.trace)]))
    images = []
    for one, (X, r) in zip(rays, _reconstructed(sinograms, rays), strict=True):
        image, addition = hu_from_mu(X), _to_hu(r)
        images.append(image + share(image, addition, one.metal) * addition)
    return images


def _reconstructed(sinograms: Sequence[Tensor], rays: Sequence[TraceRays]) -> Tensor:
    return fbp(torch.stack(list(sinograms)), rays[0].geometry, rays[0].variant)


def _rays(one: Measurement) -> TraceRays:
    metal = torch.from_numpy(one.metal).to(one.device)
    return TraceRays(one.sinogram, one.path, one.trace, metal, one.geometry, one.variant)


def filled(rays: TraceRays, n: Tensor) -> Tensor:
    """Return L = n + LI(p - n) on the trace, and p elsewhere."""
    return torch.where(rays.trace, n + interpolate(rays.p - n, rays.trace), rays.p)


def prior(hu: Tensor, metal: Tensor) -> Tensor:
    """Set tissue and metal to water; return 1/cm."""
    smooth = gaussian(torch.where(metal, 0.0, hu), (PRIOR_PIXELS, PRIOR_PIXELS))
    return mu_from_hu(torch.where(smooth.abs() < WATER_HU, 0.0, smooth)).clamp(min=0.0)


# half of the views and bins, pixels twice as wide ---------------------------------------------------------------------


def every_other(rays: TraceRays) -> TraceRays:
    """Halve the number of views and bins, and double the pixel size."""
    g = rays.geometry
    p, P, trace = (thinned(values) for values in (rays.p, rays.P, rays.trace.float()))
    size = (g.size + 1) // 2
    pixel_cm, bin_cm = g.pixel_cm * g.size / size, 2 * g.bin_cm
    if p.shape == rays.p.shape:  # their numbers cannot be halved
        size, pixel_cm, bin_cm = g.size, g.pixel_cm, g.bin_cm
    half = replace(g, size=size, pixel_cm=pixel_cm, views=p.shape[0], bins=p.shape[1], bin_cm=bin_cm)
    metal = resized(rays.metal.float(), (size, size)) > 0
    return TraceRays(p, P, trace > 0, metal, half, rays.variant)


def thinned(rays: Tensor) -> Tensor:
    """Average pairs of views and take every other bin, including the central one; views must stay a multiple of 8."""
    views, bins = rays.shape
    if views % 16 or bins % 2 == 0:
        return rays
    return (0.5 * (rays[0::2] + rays[1::2]))[:, bins // 2 % 2 :: 2].contiguous()


def between(rays: Tensor, geometry: FanBeam) -> Tensor:
    """Interpolate all rays of a geometry from those of `thinned`."""
    if rays.shape == geometry.sinogram_shape:
        return rays
    before, after = rays.roll(1, 0), rays.roll(-1, 0)
    views = torch.stack([0.25 * before + 0.75 * rays, 0.75 * rays + 0.25 * after], 1).flatten(0, 1)
    place = 0.5 * (torch.arange(geometry.bins, device=rays.device) - geometry.bins // 2 % 2)
    left = place.floor().clamp(0, rays.shape[1] - 2).long()
    return torch.lerp(views[:, left], views[:, left + 1], (place - left).clamp(0.0, 1.0))


def resized(image: Tensor, size: tuple[int, ...] | torch.Size) -> Tensor:
    """Resample an image to another pixel size."""
    found: Tensor = F.interpolate(image[None, None], tuple(size), mode="bilinear", antialias=True)
    return found[0, 0]


def _to_hu(mu: Tensor) -> Tensor:
    """Convert a difference of images from 1/cm to HU."""
    return mu * (1000.0 / WATER_MU)


# the fit --------------------------------------------------------------------------------------------------------------


def fit_residual(d: Tensor, P: Tensor, L: Tensor, trace: Tensor) -> Tensor:
    """Return the residual of the fit of d on the trace; 0 outside."""
    P, L, d = (values[trace].double() for values in (P, L, d))
    s = P.max().clamp(min=1e-6)
    falling = (torch.exp(-P * k / s) for k in FALLING)
    A = torch.stack([torch.ones_like(P), P, *falling, P * L, P * torch.exp(-FALLING_WITH_TISSUE * P / s) * L], 1)
    left = _robust_residual(A / A.abs().mean(0).clamp(min=1e-12), d)
    found = torch.zeros(trace.shape, device=trace.device)
    found[trace] = left.float()
    return found


def _robust_residual(A: Tensor, d: Tensor) -> Tensor:
    """Return d - A x, with x by least squares with Cauchy weights; a small ridge regularises collinear terms."""
    weight, left = torch.ones_like(d), d
    for _ in range(ROUNDS):
        AtA = A.T @ (A * weight[:, None])
        AtA.diagonal().add_(1e-10 * AtA.diagonal().max())
        left = d - A @ torch.linalg.solve(AtA, A.T @ (weight * d))
        scale = CAUCHY * left.abs().median().clamp(min=1e-6)
        weight = 1 / (1 + (left / scale).square())
    return left


def kept(left: Tensor, trace: Tensor) -> Tensor:
    """Return the part of the residual that neighbouring rays of the trace agree on (Wiener filter)."""
    inside = box_mean(trace.float(), NEIGHBOURS, BORDERS).clamp(min=1e-3)
    smooth = torch.where(trace, box_mean(left, NEIGHBOURS, BORDERS) / inside, 0.0)
    noise = box_mean((left - smooth).square(), AROUND, BORDERS) * float(NOISE_WEIGHT / np.prod(NEIGHBOURS))
    signal = box_mean(smooth.square(), AROUND, BORDERS).clamp(min=1e-9)
    return (1.0 - noise / signal).clamp(min=0.0) * smooth


# the share lambda -----------------------------------------------------------------------------------------------------


def share(image: Tensor, addition: Tensor, metal: Tensor) -> float:
    """Choose lambda: the largest share of the addition with nearly the smoothest tissue."""
    near = box_mean(metal.float(), (AWAY, AWAY)) > 1e-6
    tissue = ((image > TISSUE_HU[0]) & (image < TISSUE_HU[1]) & ~near)[:-1, :-1]
    if not tissue.any():
        return 0.0
    image, addition = (gaussian(part, (SMOOTH_PIXELS, SMOOTH_PIXELS)) for part in (image, addition))
    rough = torch.stack([_roughness(image + float(part) * addition, tissue) for part in SHARES])
    good = (rough <= rough.min() * NEARLY).nonzero()
    return float(SHARES[int(good[-1])])


def _roughness(image: Tensor, where: Tensor) -> Tensor:
    """Return the mean total variation."""
    image = image.clamp(-CLIP_HU, CLIP_HU)
    steps = image.diff(dim=0).abs()[:, :-1] + image.diff(dim=1).abs()[:-1]
    return steps[where].double().mean()
