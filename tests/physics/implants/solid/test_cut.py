import numpy as np
import pytest

from acdnet.physics.implants.solid.cut import LAYERS, cut
from acdnet.physics.implants.solid.solids import box, cylinder, sphere

HEIGHTS = (-4.0, -2.0, 0.0, 2.0, 4.0)


def test_shares_add_up_to_the_volume() -> None:
    shares = cut([sphere(3.5).at((1.3, -2.1, 0.4))], HEIGHTS, 2.0, 0.5, 61)
    assert shares.shape == (5, LAYERS, 61, 61)
    assert shares.mean(1).sum() * 0.5**2 * 2.0 == pytest.approx(4 / 3 * np.pi * 3.5**3, rel=0.03)


def test_the_end_of_a_rod_fills_a_slice_in_part() -> None:
    shares = cut([cylinder(4, 20).at((0, 0, -20))], HEIGHTS, 2.0, 0.5, 61)
    middle = shares[:, :, 30, 30]
    assert middle[:2].tolist() == [[1.0] * LAYERS] * 2
    assert middle[2].tolist() == [1.0, 0.0]  # it ends in the middle of this slice
    assert not middle[3:].any()


def test_edges_of_pixels_are_shared_and_overlap_counts_once() -> None:
    block = box(10, 10, 30)
    shares = cut([block, block], (0.0,), 2.0, 1.0, 31)[0, 0]
    assert shares.max() == 1.0
    assert shares[15].tolist() == [0.0] * 10 + [0.5] + [1.0] * 9 + [0.5] + [0.0] * 10


def test_metal_outside_the_picture_is_cut_off() -> None:
    assert not cut([sphere(3).at((100, 0, 0))], (0.0,), 2.0, 1.0, 31).any()
    assert not cut([], (0.0,), 2.0, 1.0, 31).any()
    assert cut([sphere(8).at((15, 0, 0))], (0.0,), 2.0, 1.0, 31)[0, 0, 15, -1] == 1.0
