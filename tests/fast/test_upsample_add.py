from __future__ import annotations

import pytest
import torch

from acdnet.fast.upsample_add import add_up_
from acdnet.model.residual import up


@pytest.mark.parametrize("factor", [1, 2, 4, 8])
@pytest.mark.parametrize("shape", [(32, 40), (33, 47), (8, 9)])
def test_it_is_what_the_block_says(factor: int, shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    H, W = shape
    x = torch.randn(2, 5, H, W).to(memory_format=torch.channels_last)
    f = torch.randn(2, 5, -(-H // factor), -(-W // factor))
    expected = torch.relu(x + up(f, factor, x))
    assert add_up_(x, f, factor) is x
    torch.testing.assert_close(x, expected, atol=1e-5, rtol=0)


def test_the_number_of_threads_changes_nothing() -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 16, 50, 32).to(memory_format=torch.channels_last)
    f = torch.randn(1, 16, 13, 8)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(add_up_(x.clone(), f, 4))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_what_is_not_a_number_stays_none() -> None:
    x = torch.zeros(1, 3, 8, 8).to(memory_format=torch.channels_last)
    x[0, 1, 3, 3] = torch.nan
    f = torch.zeros(1, 3, 4, 4)
    f[0, 2, 1, 1] = torch.nan
    out = add_up_(x, f, 2)
    assert out[0, 1, 3, 3].isnan()
    assert out[0, 2, 2, 2].isnan()
    assert not out[0, 0].isnan().any()
