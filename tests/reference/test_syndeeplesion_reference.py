"""Our simulation against published pairs of the benchmark."""

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from acdnet.data.benchmark import BenchmarkPair, read_list, read_pair
from acdnet.physics.fbp import fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.scanner import BenchmarkScanner
from acdnet.physics.simulate import simulate
from acdnet.physics.trace import interpolate
from acdnet.units import mu_from_hu

CASES = [("000195_02_02/202", 0), ("000321_03_01/011", 0), ("000321_03_01/011", 1)]


def decibels(hu: NDArray[np.float32], other_hu: NDArray[np.float32]) -> float:
    """Return the PSNR with a peak of 1 / cm."""
    difference = mu_from_hu(hu.astype(np.float64)) - mu_from_hu(other_hu.astype(np.float64))
    return float(-10 * np.log10(np.mean(difference**2)))


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def published(request: pytest.FixtureRequest, shared: Path) -> BenchmarkPair:
    folder = shared / "reference/syndeeplesion"
    name, k = request.param
    return read_pair(folder / name / "gt.h5", k, np.load(folder / "masks.npy"))


def test_trace(published: BenchmarkPair) -> None:
    ours = simulate(published.clean, published.metal).trace
    assert np.mean(ours == published.trace) >= 0.9999


def test_sinogram_outside_the_trace_is_at_the_noise_floor(published: BenchmarkPair) -> None:
    """Without noise of ours: what is left is the photon noise of theirs."""
    scanner = BenchmarkScanner(published.clean)
    expected = scanner.PHOTONS * scanner.share.double() + scanner.SCATTER
    p = -torch.log(expected / scanner.PHOTONS)
    c1, c2, c3 = scanner.correction
    ideal = (c1 * p + c2 * p**2 + c3 * p**3).numpy()
    slope = (c1 + 2 * c2 * p + 3 * c3 * p**2).numpy()
    floor = slope / np.sqrt(expected.numpy())
    outside = ~published.trace
    rms = np.sqrt(np.mean((published.sinogram - ideal)[outside] ** 2))
    assert rms <= 1.1 * np.sqrt(np.mean(floor[outside] ** 2))


def test_li_of_their_sinogram(published: BenchmarkPair) -> None:
    filled = interpolate(torch.from_numpy(published.sinogram), torch.from_numpy(published.trace)).numpy()
    assert np.abs(filled - published.li_sinogram).max() <= 1e-5


def test_fbp_of_their_sinogram(published: BenchmarkPair) -> None:
    image = fbp(torch.from_numpy(published.sinogram), FanBeam.benchmark(), "benchmark").numpy()
    assert np.abs(image - mu_from_hu(published.corrupted)).max() < 1e-3


def test_images(published: BenchmarkPair) -> None:
    ours = simulate(published.clean, published.metal)
    assert decibels(ours.corrupted, published.corrupted) >= 50
    assert decibels(ours.li, published.li) >= 50


def test_the_list_names_the_slices(shared: Path) -> None:
    folder = shared / "reference/syndeeplesion"
    assert [path.parent.name for path in read_list(folder)] == ["202", "011"]
    assert all(path.is_file() for path in read_list(folder))
