from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from acdnet.physics.beside import LIMIT, given_back
from acdnet.physics.fbp import fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.projector import project
from acdnet.units import WATER_MU

SIZE = 96
GEOMETRY = FanBeam.around(SIZE, 0.3)


def disc(row: float, column: float, radius: float) -> NDArray[np.float32]:
    y, x = np.ogrid[:SIZE, :SIZE]
    return (np.hypot(y - row, x - column) <= radius).astype(np.float32)


METAL = disc(48, 48, 3) > 0


def test_what_was_taken_beside_metal_comes_back() -> None:
    lesion = 40 * gaussian_filter(disc(48, 70, 4), 1.0)
    back = given_back(lesion, METAL, GEOMETRY)
    assert 0.7 < (back * lesion).sum() / (lesion * lesion).sum() < 1.1
    assert np.abs(back - lesion).mean() < 0.1 * lesion.max()


def test_what_came_with_the_rays_of_the_metal_stays_away() -> None:
    trace = project(torch.from_numpy(METAL).float(), GEOMETRY)
    streaks = fbp(trace * torch.linspace(-1, 1, GEOMETRY.views).sin()[:, None], GEOMETRY, "textbook").numpy()
    streaks = np.where(METAL, 0, 100 * streaks / np.abs(streaks[~METAL]).max()).astype(np.float32)
    back = given_back(streaks, METAL, GEOMETRY)
    assert np.abs(streaks).mean() > 1
    assert np.abs(back[~METAL]).mean() < 0.35 * np.abs(streaks[~METAL]).mean()


def test_without_metal_all_of_it_comes_back() -> None:
    taken = np.random.default_rng(0).normal(0, 30, (SIZE, SIZE)).astype(np.float32)
    assert np.array_equal(given_back(taken, np.zeros_like(METAL), GEOMETRY), taken)


def test_rays_give_back_no_more_than_the_limit() -> None:
    much = 3000 * disc(48, 70, 8)
    back = project(torch.from_numpy(given_back(much, METAL, GEOMETRY) * WATER_MU / 1000), GEOMETRY)
    assert project(torch.from_numpy(much * WATER_MU / 1000), GEOMETRY).max() > 5 * LIMIT
    assert back.max() < 1.3 * LIMIT


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e9])
def test_the_metal_itself_may_hold_anything(value: float) -> None:
    taken = 20 * disc(48, 70, 4)
    marred = np.where(METAL, np.float32(value), taken)
    assert np.array_equal(given_back(marred, METAL, GEOMETRY), given_back(taken, METAL, GEOMETRY))


def test_metal_everywhere_gives_back_what_no_ray_can_tell() -> None:
    back = given_back(np.ones((SIZE, SIZE), np.float32), np.ones((SIZE, SIZE), bool), GEOMETRY)
    assert np.isfinite(back).all()
    assert np.abs(back).max() < 1
