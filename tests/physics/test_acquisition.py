from dataclasses import replace

import numpy as np
import pytest
import torch

from acdnet.physics.acquisition import FILTER_WINDOWS, KERNELS, VIEWS, Acquisition
from acdnet.physics.geometry import FanBeam


def drawn(seed: int = 0) -> Acquisition:
    return Acquisition.draw(np.random.default_rng(seed))


def test_scanners_differ_within_their_ranges() -> None:
    scans = [drawn(seed) for seed in range(60)]
    assert {scan.views for scan in scans} == set(VIEWS)
    assert {scan.kernel for scan in scans} == set(KERNELS)
    assert {scan.window for scan in scans} == set(FILTER_WINDOWS)
    assert 15 < sum(scan.low_count > 0 for scan in scans) < 45
    assert all(FanBeam.around(64, 0.1, scan.source_cm, scan.detector_cm, scan.views) for scan in scans)


def test_photons_follow_bin_thickness_and_views() -> None:
    scan = FanBeam.around(416, 0.08)
    one = replace(drawn(), views=984, mas=200.0)
    bin_mm = 0.92 * 0.8
    assert one.photons(scan, 1.0) == pytest.approx(4500 * 200 * bin_mm)
    assert one.photons(scan, 3.0) == pytest.approx(3 * one.photons(scan, 1.0))
    assert replace(one, views=1968).photons(scan, 1.0) == pytest.approx(one.photons(scan, 1.0) / 2)


def test_a_kernel_passes_half_where_it_says_and_a_sharp_one_lifts() -> None:
    scan = FanBeam.around(416, 0.04)  # finest 12.5 line pairs per cm
    pitch = scan.pitch * scan.pixel_cm
    at = torch.arange(scan.bins) * pitch

    def gain(one: Acquisition, lp_cm: float) -> float:
        wave = torch.cos(2 * np.pi * lp_cm * at)[None]
        middle = slice(scan.bins // 4, -scan.bins // 4)
        return float(one.filtered(wave, scan)[0, middle].abs().max())

    soft = replace(drawn(), half_lp_cm=4.0, rise=0.0)
    assert gain(soft, 4.0) == pytest.approx(0.5, abs=0.03)
    assert gain(soft, 0.5) == pytest.approx(1.0, abs=0.03)
    assert gain(soft, 8.0) < 0.1
    sharp = replace(soft, half_lp_cm=8.0, rise=1.0)
    assert gain(sharp, 5.0) > 1.2
    coarse = FanBeam.around(416, 0.1)  # finest 5: the kernel passes half at 4.5
    wave = torch.ones(1, coarse.bins)
    assert torch.allclose(sharp.filtered(wave, coarse)[0, 200:-200], torch.ones(1), atol=0.02)
