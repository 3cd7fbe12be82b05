from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.ndimage import gaussian_filter
from torch import Tensor

from acdnet.baselines.method import method
from acdnet.baselines.tracefit import fit_residual, kept, resized, share, smooth_fbp
from acdnet.evaluate.metrics import hu_rmse
from acdnet.physics.fbp import Variant, fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.implants.anatomy import find_anatomy
from acdnet.physics.implants.draw import draw_implant
from acdnet.physics.phantom import make_phantom
from acdnet.physics.projector import project
from acdnet.physics.scanner import Simulation
from acdnet.physics.simulate import simulate
from acdnet.units import WATER_MU


def scan(site: str, kind: str, metal: str, seed: int, protocol: str = "clinical") -> Simulation:
    phantom = make_phantom(site, seed, 256)
    anatomy = find_anatomy(phantom.hu, phantom.pixel_mm)
    mask = draw_implant(anatomy, np.random.default_rng(seed), (kind,)).mask
    return simulate(phantom.hu, mask, protocol, seed, phantom.pixel_mm, metal)


def errors(made: Simulation, *names: str) -> list[float]:
    body = (made.clean > -500) & ~made.metal
    return [hu_rmse(method(name)(made.measured()), made.clean, body) for name in names]


@pytest.mark.parametrize("protocol", ["clinical", "syndeeplesion"])
def test_what_titanium_lets_through_is_used(protocol: str) -> None:
    found = [errors(scan("pelvis", "hip-cup", "titanium", seed, protocol), "li", "nmar", "tracefit") for seed in (1, 2)]
    li, nmar, tracefit = np.mean(found, 0)
    assert tracefit < min(0.85 * li, nmar)


def test_what_gold_swallows_is_left_to_li() -> None:
    found = [errors(scan("head", "fillings", "gold", seed), "li", "tracefit") for seed in (1, 2)]
    li, tracefit = np.mean(found, 0)
    assert tracefit < 1.1 * li


@pytest.mark.parametrize("size", [128, 129])
@pytest.mark.parametrize("variant", ["textbook", "benchmark"])
def test_half_of_the_rays_show_what_is_smooth(size: int, variant: Variant) -> None:
    y, x = np.ogrid[:size, :size]
    blob = np.exp(-((y - 0.3 * size) ** 2 + (x - 0.65 * size) ** 2) / (2 * 8.0**2)).astype(np.float32)
    for geometry in (FanBeam.around(size, 0.08), FanBeam.around(size, 0.08, views=328)):  # 164 views would be no fan
        r = project(torch.from_numpy(blob), geometry)
        found = resized(smooth_fbp(r, geometry, variant), (size, size)) * np.float32(WATER_MU / 1000)
        np.testing.assert_allclose(found, fbp(r, geometry, variant).numpy(), atol=0.04)


def rays(seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Make d of what metal adds, and P, L and a trace."""
    rng = np.random.default_rng(seed)
    P, L = (torch.from_numpy(rng.uniform(low, high, (60, 40))).float() for low, high in ((0.0, 3.0), (1.0, 6.0)))
    trace = torch.from_numpy(rng.random((60, 40)) < 0.7)
    return 0.1 + 2.4 * P - 0.3 * P * L + 0.5 * torch.exp(-2 * P / P[trace].max()), P, L, trace


def test_the_fit_takes_off_what_is_smooth_in_path_and_tissue() -> None:
    d, P, L, trace = rays(0)
    bump = torch.zeros(60, 40)
    bump[30:34, 20:24] = 0.4
    left = fit_residual(d + bump, P, L, trace)
    assert np.abs(left[~trace.numpy()]).max() == 0
    np.testing.assert_allclose(left, np.where(trace, bump, 0.0), atol=0.01)


def test_rays_that_are_far_off_do_not_spoil_the_fit() -> None:
    d, P, L, trace = rays(1)
    off = torch.zeros(60, 40)
    off[:, 5:9] = 3.0 * P[:, 5:9]
    left = fit_residual(d + off, P, L, trace)
    sound = trace.numpy() & (off == 0).numpy()
    assert np.abs(left[sound]).mean() < 0.1


def test_neighbours_that_agree_are_kept_and_noise_is_not() -> None:
    rng = np.random.default_rng(1)
    trace = np.zeros((128, 64), bool)
    trace[:, 20:44] = True
    smooth = np.where(trace, gaussian_filter(rng.normal(size=trace.shape), 8.0) * 8, 0.0).astype(np.float32)
    noise = np.where(trace, gaussian_filter(rng.normal(size=trace.shape), (0.0, 0.7)), 0.0).astype(np.float32)
    np.testing.assert_allclose(kept(smooth, trace), smooth, atol=0.25 * np.abs(smooth).max())
    assert np.square(kept(noise, trace)).mean() < 0.02 * np.square(noise).mean()
    assert np.abs(kept(smooth + noise, trace)[~trace]).max() == 0


@pytest.mark.parametrize("wanted", [0.0, 0.5, 1.0])
def test_the_smoothest_tissue_decides(wanted: float) -> None:
    rng = np.random.default_rng(2)
    streaks = (200 * gaussian_filter(rng.normal(size=(96, 96)), 2.0)).astype(np.float32)
    tissue, metal = rng.normal(40.0, 30.0, (96, 96)).astype(np.float32), np.zeros((96, 96), bool)
    metal[40:44, 40:44] = True
    assert share(tissue - np.float32(wanted) * streaks, streaks, metal) == pytest.approx(wanted, abs=0.21)


def test_what_grain_hides_is_taken_whole() -> None:
    rng = np.random.default_rng(3)
    streaks = (20 * gaussian_filter(rng.normal(size=(96, 96)), 3.0)).astype(np.float32)
    tissue = rng.normal(40.0, 30.0, (96, 96)).astype(np.float32)
    assert share(tissue - streaks / 2, streaks, np.zeros((96, 96), bool)) == 1


def test_a_mask_of_any_layout() -> None:
    made = scan("pelvis", "hip-cup", "titanium", 1)
    measured = made.measured()
    view = np.ascontiguousarray(made.metal[::-1])[::-1]
    view.flags.writeable = False
    found = method("tracefit")(replace(measured, metal=view))
    np.testing.assert_array_equal(found, method("tracefit")(measured))


@pytest.mark.parametrize("side", [1, 2])
def test_metal_of_a_few_pixels(side: int) -> None:
    phantom = make_phantom("thorax", 5, 95)
    metal = np.zeros(phantom.hu.shape, bool)
    metal[40 : 40 + side, 50] = True
    made = simulate(phantom.hu, metal, "clinical", 1, phantom.pixel_mm, "titanium")
    li, tracefit = errors(made, "li", "tracefit")
    assert tracefit < 1.05 * li


def test_a_slice_of_nothing_but_air_and_metal() -> None:
    air, metal = np.full((32, 32), -1000.0, np.float32), np.ones((32, 32), bool)
    assert share(air, air, metal) == 0
