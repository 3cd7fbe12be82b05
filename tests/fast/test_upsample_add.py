import pytest
import torch

from acdnet.fast.upsample_add import add_up_
from acdnet.model.residual import up
from tests.helpers import with_threads


@pytest.mark.parametrize("factor", [1, 2, 4, 8])
@pytest.mark.parametrize("shape", [(32, 40), (33, 47), (8, 9)])
def test_equals_the_block(factor: int, shape: tuple[int, int]) -> None:
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
    one, *others = with_threads((1, 2, 3), lambda: add_up_(x.clone(), f, 4))
    assert all(torch.equal(one, other) for other in others)


def test_nan_is_not_hidden() -> None:
    x = torch.zeros(1, 3, 8, 8).to(memory_format=torch.channels_last)
    x[0, 1, 3, 3] = torch.nan
    f = torch.zeros(1, 3, 4, 4)
    f[0, 2, 1, 1] = torch.nan
    out = add_up_(x, f, 2)
    assert out[0, 1, 3, 3].isnan()
    assert out[0, 2, 2, 2].isnan()
    assert not out[0, 0].isnan().any()
