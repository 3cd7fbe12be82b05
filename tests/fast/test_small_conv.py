import pytest
import torch

from acdnet.fast.inference import FoldedBlock
from acdnet.fast.small_conv import PlanarTrunk
from acdnet.model.residual import ResidualBlock
from tests.helpers import with_threads


def make(channels: int) -> tuple[torch.nn.Sequential, PlanarTrunk]:
    torch.manual_seed(channels)
    folded = [FoldedBlock(ResidualBlock(channels).eval()) for _ in range(2)]
    return torch.nn.Sequential(*folded), PlanarTrunk([(block.conv1, block.conv2) for block in folded])


@pytest.mark.parametrize("channels", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("shape", [(16, 24), (9, 17), (1, 1)])
@torch.inference_mode()
def test_it_is_a_trunk_of_residual_blocks(channels: int, shape: tuple[int, int]) -> None:
    plain, planar = make(channels)
    x = torch.randn(1, channels, *shape)
    kept = x.clone()
    torch.testing.assert_close(planar(x), plain(x), atol=1e-5, rtol=1e-5)
    assert torch.equal(x, kept)


@torch.inference_mode()
def test_the_number_of_threads_changes_nothing() -> None:
    _, planar = make(6)
    x = torch.randn(1, 6, 40, 50)
    one, *others = with_threads((1, 2, 3), lambda: planar(x))
    assert all(torch.equal(one, other) for other in others)


@torch.inference_mode()
def test_nan_is_not_hidden() -> None:
    _, planar = make(6)
    x = torch.zeros(1, 6, 20, 20)
    x[0, 2, 10, 10] = torch.nan
    assert planar(x).isnan().any()
