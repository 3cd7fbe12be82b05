import numpy as np
import pytest
import torch

from acdnet.config import LocaliserConfig
from acdnet.methods.learned.clues import ABSENT, clues, finite, spoken_back
from acdnet.methods.learned.localiser import CHANNELS, Localiser
from acdnet.units import Image


def water(metal_hu: float = 6000.0) -> Image:
    """Return a disc of water with two rods beside its middle."""
    y, x = np.mgrid[:90, :70]
    hu = np.full((90, 70), -1000.0, np.float32)
    hu[(y - 45) ** 2 + (x - 35) ** 2 < 33**2] = 0.0
    for column in (20, 50):
        hu[(y - 45) ** 2 + (x - column) ** 2 < 5**2] = metal_hu
    return hu


@pytest.mark.parametrize("shape", [(13, 18), (32, 32), (65, 40)])
def test_every_size_gives_a_logit_for_every_pixel(shape: tuple[int, int]) -> None:
    network = Localiser(LocaliserConfig(width=4)).eval()
    assert network(torch.zeros(2, CHANNELS, *shape)).shape == (2, 1, *shape)


def test_the_channels_show_the_neighbours_or_that_there_is_none() -> None:
    hu = water()
    alone, between = clues([None, hu, None], 2.0), clues([hu, hu, hu], 2.0)
    assert alone.shape == (CHANNELS, *hu.shape)
    assert torch.equal(alone[:3], between[:3])
    assert (alone[3:7] == ABSENT).all()
    assert torch.equal(between[3], between[1])
    assert torch.equal(between[6], between[2])
    assert float(between.abs().max()) <= 3.0


def test_bright_pixels_make_a_band_between_them_and_dark_ones_none() -> None:
    bands, change = (image.numpy() for image in spoken_back(torch.from_numpy(water()), 2.0))
    assert abs(bands[45, 35]) > 3 * abs(bands[20, 35])
    assert change[45, 20] < -1  # the rod goes with its rays
    assert abs(change[45, 35]) < 0.6
    assert not any(image.any() for image in spoken_back(torch.from_numpy(water(1500.0)), 2.0))


def test_values_that_are_not_finite_count_as_the_brightest() -> None:
    hu = water()
    hu[0, :3] = np.nan, np.inf, -np.inf
    assert np.array_equal(finite(hu)[0, :4], [6000.0, 6000.0, 6000.0, -1000.0])
    assert finite(water()) is not None
