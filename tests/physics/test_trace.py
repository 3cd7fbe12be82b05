import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from acdnet.physics.trace import interpolate, soften_edges


def test_edges_of_a_run_see_a_quarter() -> None:
    path = torch.tensor([[0.0, 2, 3, 4, 0, 5, 0, 6, 7, 0]])
    assert soften_edges(path).tolist() == [[0.0, 0.5, 3, 1, 0, 1.25, 0, 1.5, 1.75, 0]]


@given(st.integers(0, 2**32 - 1))
def test_interpolation_equals_numpy_view_by_view(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, hidden = rng.normal(size=(4, 17)), rng.random((4, 17)) < rng.random()
    found = interpolate(torch.from_numpy(values), torch.from_numpy(hidden)).numpy()
    bins = np.arange(17)
    for view in range(4):
        if hidden[view].all():
            assert np.array_equal(found[view], values[view])
        else:
            known = bins[~hidden[view]]
            expected = np.where(hidden[view], np.interp(bins, known, values[view][known]), values[view])
            assert np.allclose(found[view], expected)


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match="differ"):
        interpolate(torch.zeros(3, 4), torch.zeros(3, 5, dtype=torch.bool))
