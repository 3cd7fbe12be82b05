import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from acdnet import units


def test_water_and_air() -> None:
    assert units.mu_from_hu(0.0) == units.WATER_MU
    assert units.mu_from_hu(-1000.0) == 0.0
    assert units.network_from_hu(np.array([0.0]))[0] == pytest.approx(48.96)


def test_ceiling() -> None:
    assert pytest.approx(4208.333, abs=1e-3) == units.HU_CEILING
    assert units.network_from_hu(np.array([1e5, -5e3])).tolist() == [255.0, 0.0]


@given(st.floats(-1000, 4208))
def test_the_way_in_is_undone_by_the_way_out(hu: float) -> None:
    there = units.network_from_hu(np.array([hu], dtype=np.float64))
    assert units.hu_from_network(there)[0] == pytest.approx(hu, abs=1e-6)


def test_tensors_are_taken_too() -> None:
    hu = torch.tensor([-1000.0, 0.0, 100.0])
    torch.testing.assert_close(units.hu_from_network(units.network_from_hu(hu)), hu, atol=1e-3, rtol=0)
