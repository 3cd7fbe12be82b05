from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.ndimage import gaussian_filter
from torch import Tensor

from acdnet.methods.trace_fit import (
    TraceRays,
    between,
    every_other,
    filled,
    fit_residual,
    kept,
    prior,
    resized,
    share,
    trace_fit,
)
from acdnet.physics.fbp import fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.phantom import make_phantom
from acdnet.physics.projector import project
from acdnet.physics.scanner import Simulation
from acdnet.physics.simulate import simulate
from acdnet.physics.trace import interpolate
from acdnet.units import WATER_MU
from tests.methods.make import errors, phantom_scan


def scan(site: str, kind: str, metal: str, seed: int, protocol: str = "clinical") -> Simulation:
    return phantom_scan(site, protocol, seed, (kind,), metal, size=256)


@pytest.mark.parametrize("protocol", ["clinical", "syndeeplesion"])
def test_rays_through_titanium_are_used(protocol: str) -> None:
    found = [errors(scan("pelvis", "hip-cup", "titanium", seed, protocol), "li", "nmar", "tracefit") for seed in (1, 2)]
    li, nmar, tracefit = np.mean(found, 0)
    assert tracefit < min(0.85 * li, nmar)


def test_rays_through_gold_are_left_to_li() -> None:
    found = [errors(scan("head", "fillings", "gold", seed), "li", "tracefit") for seed in (1, 2)]
    li, tracefit = np.mean(found, 0)
    assert tracefit < 1.1 * li


def case(size: int, views: int = 640) -> tuple[TraceRays, Tensor]:
    """Make the rays of a smooth blob with a little metal next to it, and the blob."""
    y, x = np.ogrid[:size, :size]
    blob = np.exp(-((y - 0.3 * size) ** 2 + (x - 0.65 * size) ** 2) / (2 * 8.0**2)).astype(np.float32)
    metal = np.zeros((size, size), bool)
    metal[10:13, 20] = True
    geometry = FanBeam.around(size, 0.08, views=views)
    p, P = project(torch.from_numpy(np.stack([blob, metal.astype(np.float32)])), geometry)
    return TraceRays(p, P, P > 0, torch.from_numpy(metal), geometry, "textbook"), torch.from_numpy(blob)


@pytest.mark.parametrize("size", [128, 129])
@pytest.mark.parametrize("views", [640, 328])  # 164 views are not a multiple of 8: all rays are kept
def test_every_other_ray_suffices_for_smooth_images(size: int, views: int) -> None:
    rays, blob = case(size, views)
    half = every_other(rays)
    assert half.geometry.size == (size if views == 328 else 64 if size == 128 else 65)
    assert half.metal.any()
    assert half.trace.sum() > 0.2 * rays.trace.sum() / (1 if views == 328 else 4)
    found = resized(fbp(half.p, half.geometry, "textbook"), (size, size))
    torch.testing.assert_close(found, fbp(rays.p, rays.geometry, "textbook"), atol=0.04, rtol=0)
    projected = project(resized(blob, half.metal.shape), half.geometry)
    torch.testing.assert_close(between(projected, rays.geometry), rays.p, atol=0.03 * float(rays.p.max()), rtol=0)


def test_a_prior_that_is_true_leaves_nothing_to_interpolate() -> None:
    rays, _ = case(128)
    torch.testing.assert_close(filled(rays, rays.p), rays.p)
    torch.testing.assert_close(filled(rays, torch.zeros_like(rays.p)), interpolate(rays.p, rays.trace))


def test_tissue_is_water_in_the_prior() -> None:
    hu = np.full((40, 40), 60.0, np.float32)
    hu[:, 20:30], hu[:, 30:] = 1200.0, -1000.0
    metal = np.zeros(hu.shape, bool)
    metal[18:20, 2:4], hu[18:20, 2:4] = True, 8000.0
    found = prior(torch.from_numpy(hu), torch.from_numpy(metal)).numpy() / WATER_MU
    np.testing.assert_allclose([found[5, 5], found[19, 3], found[5, 25], found[5, 38]], [1.0, 1.0, 2.2, 0.0], atol=1e-3)


def test_a_prior_helps() -> None:
    made = scan("thorax", "spine-rods", "titanium", 2)
    with_prior = errors(made, "tracefit")[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("acdnet.methods.trace_fit.PASSES", 0)
        without = errors(made, "tracefit")[0]
    assert with_prior < 0.95 * without


def rays(seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Make d of what metal adds, and P, L and a trace."""
    rng = np.random.default_rng(seed)
    P, L = (torch.from_numpy(rng.uniform(low, high, (60, 40))).float() for low, high in ((0.0, 3.0), (1.0, 6.0)))
    trace = torch.from_numpy(rng.random((60, 40)) < 0.7)
    return 0.1 + 2.4 * P - 0.3 * P * L + 0.5 * torch.exp(-2 * P / P[trace].max()), P, L, trace


def test_the_fit_removes_smooth_functions_of_path_and_tissue() -> None:
    d, P, L, trace = rays(0)
    bump = torch.zeros(60, 40)
    bump[30:34, 20:24] = 0.4
    left = fit_residual(d + bump, P, L, trace)
    assert left[~trace].abs().max() == 0
    torch.testing.assert_close(left, torch.where(trace, bump, 0.0), atol=0.01, rtol=0)


def test_outliers_do_not_spoil_the_fit() -> None:
    d, P, L, trace = rays(1)
    off = torch.zeros(60, 40)
    off[:, 5:9] = 3.0 * P[:, 5:9]
    left = fit_residual(d + off, P, L, trace)
    assert left[trace & (off == 0)].abs().mean() < 0.1


def test_neighbours_that_agree_are_kept_and_noise_is_not() -> None:
    rng = np.random.default_rng(1)
    trace = torch.zeros((128, 64), dtype=torch.bool)
    trace[:, 20:44] = True

    def random(sigma: tuple[float, float]) -> Tensor:
        values = torch.from_numpy(gaussian_filter(rng.normal(size=trace.shape), sigma)).float()
        return torch.where(trace, values, 0.0)

    smooth, noise = 8 * random((8.0, 8.0)), random((0.0, 0.7))
    torch.testing.assert_close(kept(smooth, trace), smooth, atol=0.25 * float(smooth.abs().max()), rtol=0)
    assert kept(noise, trace).square().mean() < 0.02 * noise.square().mean()
    assert kept(smooth + noise, trace)[~trace].abs().max() == 0


def streaks_and_tissue(seed: int, height: float, width: float) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(seed)
    streaks = height * gaussian_filter(rng.normal(size=(96, 96)), width)
    return torch.from_numpy(streaks).float(), torch.from_numpy(rng.normal(40.0, 30.0, (96, 96))).float()


@pytest.mark.parametrize("wanted", [0.0, 0.5, 1.0])
def test_the_smoothest_tissue_decides(wanted: float) -> None:
    streaks, tissue = streaks_and_tissue(2, 200.0, 2.0)
    metal = torch.zeros((96, 96), dtype=torch.bool)
    metal[40:44, 40:44] = True
    assert share(tissue - wanted * streaks, streaks, metal) == pytest.approx(wanted, abs=0.21)


def test_an_addition_hidden_by_grain_is_taken_whole() -> None:
    streaks, tissue = streaks_and_tissue(3, 20.0, 3.0)
    assert share(tissue - streaks / 2, streaks, torch.zeros((96, 96), dtype=torch.bool)) == 1


def test_a_mask_of_any_layout() -> None:
    measurement = scan("pelvis", "hip-cup", "titanium", 1).measurement()
    view = np.ascontiguousarray(measurement.slice_metal[::-1])[::-1]
    view.flags.writeable = False
    found = trace_fit(replace(measurement, slice_metal=view))
    np.testing.assert_array_equal(found, trace_fit(measurement))


@pytest.mark.parametrize("side", [1, 2])
def test_metal_of_a_few_pixels(side: int) -> None:
    phantom = make_phantom("thorax", 5, 95)
    metal = np.zeros(phantom.hu.shape, bool)
    metal[40 : 40 + side, 50] = True
    made = simulate(phantom.hu, metal, "clinical", 1, phantom.pixel_mm, "titanium")
    li, tracefit = errors(made, "li", "tracefit")
    assert tracefit < 1.05 * li


def test_a_slice_of_nothing_but_air_and_metal() -> None:
    air, metal = torch.full((32, 32), -1000.0), torch.ones((32, 32), dtype=torch.bool)
    assert share(air, air, metal) == 0
