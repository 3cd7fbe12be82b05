import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from acdnet.methods.trace_correction import FINE_LIMIT, GAIN, SMOOTH_LIMIT
from acdnet.methods.trace_correction import given_back as given_back_of_several
from acdnet.physics.fbp import fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.projector import project
from acdnet.units import WATER_MU

SIZE = 96
GEOMETRY = FanBeam.around(SIZE, 0.15)

Image = NDArray[np.float32]


def disc(row: float, column: float, radius: float) -> Image:
    y, x = np.ogrid[:SIZE, :SIZE]
    return (np.hypot(y - row, x - column) <= radius).astype(np.float32)


METAL = disc(48, 48, 3) > 0
LESION = np.asarray(40 * gaussian_filter(disc(48, 70, 4), 0.6), np.float32)


def given_back(taken: Image, metal: NDArray[np.bool_], geometry: FanBeam) -> Image:
    (back,) = given_back_of_several([taken], [metal], geometry)
    return back


def kept(part: Image, whole: Image) -> float:
    return float((part * whole).sum() / (whole * whole).sum())


def test_a_lesion_near_metal_comes_back() -> None:
    back = given_back(LESION, METAL, GEOMETRY)
    assert 0.65 < kept(back, LESION) < 1.0  # the rest went through metal
    assert np.square(back - LESION).sum() < 0.3 * np.square(LESION).sum()


def test_it_comes_back_from_a_broad_change_too() -> None:
    broad = np.asarray(60 * gaussian_filter(disc(48, 48, 40), 6.0), np.float32)
    difference = given_back(LESION + broad, METAL, GEOMETRY) - given_back(broad, METAL, GEOMETRY)
    assert kept(difference, LESION) > 0.6


@pytest.mark.parametrize("blur", [0.0, 1.0])
def test_streaks_of_the_metal_stay_away(blur: float) -> None:
    """Blurred metal is wider than its mask."""
    blurred = torch.from_numpy(gaussian_filter(METAL.astype(np.float32), blur))
    wave = torch.linspace(-30, 30, GEOMETRY.views).sin()[:, None]
    streaks = fbp(project(blurred, GEOMETRY) * wave, GEOMETRY, "textbook").numpy()
    streaks = np.where(METAL, 0, 40 * streaks / np.abs(streaks[~METAL]).max()).astype(np.float32)
    back = given_back(streaks, METAL, GEOMETRY)
    assert np.abs(back[~METAL]).mean() < 0.1 * GAIN * np.abs(streaks[~METAL]).mean()


def test_the_trace_is_bridged() -> None:
    """A change of the whole body leaves no shadow of the metal."""
    body = np.asarray(4 * gaussian_filter(disc(48, 48, 40), 2.0), np.float32)
    back = given_back(body, METAL, GEOMETRY)
    ring = (disc(48, 48, 20) > 0) & (disc(48, 48, 8) == 0)
    assert back[ring].min() > 0.5 * body[ring].mean()


def test_without_metal_all_of_it_comes_back() -> None:
    taken = np.random.default_rng(0).normal(0, 30, (SIZE, SIZE)).astype(np.float32)
    back = given_back(taken, np.zeros_like(METAL), GEOMETRY)
    assert np.array_equal(back, taken)
    assert not np.shares_memory(back, taken)


def test_rays_get_back_no_more_than_the_limits() -> None:
    much = 3000 * disc(48, 70, 8)
    back = project(torch.from_numpy(given_back(much, METAL, GEOMETRY) * WATER_MU / 1000), GEOMETRY)
    assert project(torch.from_numpy(much * WATER_MU / 1000), GEOMETRY).max() > 20 * FINE_LIMIT
    assert back.max() < 1.5 * GAIN * (FINE_LIMIT + SMOOTH_LIMIT)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e9])
def test_values_of_the_metal_have_no_effect(value: float) -> None:
    marred = np.where(METAL, np.float32(value), LESION)
    assert np.array_equal(given_back(marred, METAL, GEOMETRY), given_back(LESION, METAL, GEOMETRY))


@pytest.mark.parametrize("size", [2, 5, 16])
def test_small_images(size: int) -> None:
    metal = np.zeros((size, size), bool)
    metal[0, 0] = True
    back = given_back(np.ones((size, size), np.float32), metal, FanBeam.around(size, 0.3))
    assert np.isfinite(back).all()
