"""Residual blocks, on the pixels of the image and on coarser ones."""

import pytest
import torch
from torch.nn import functional as F

from acdnet.model.residual import ResidualBlock, Trunk, channels_last, down, up


@pytest.mark.parametrize("factor", [1, 2, 4])
def test_block_equals_its_equation(factor: int) -> None:
    """x <- relu(x + up(f(down(x)))) with f = conv, BN, ReLU, conv, BN, written with torch's functions."""
    torch.manual_seed(0)
    block = ResidualBlock(3, factor).eval()
    for norm in (block.norm1, block.norm2):
        for value in (norm.weight, norm.bias, norm.running_mean, norm.running_var):
            assert value is not None
            torch.nn.init.uniform_(value, 0.5, 1.5)
    x = torch.randn(2, 3, 16, 24)
    coarse = F.avg_pool2d(x, factor)
    for conv, norm, last in ((block.conv1, block.norm1, False), (block.conv2, block.norm2, True)):
        assert norm.running_mean is not None
        assert norm.running_var is not None
        coarse = F.conv2d(coarse, conv.weight, conv.bias, padding=1)
        coarse = F.batch_norm(coarse, norm.running_mean, norm.running_var, norm.weight, norm.bias, eps=norm.eps)
        coarse = coarse if last else F.relu(coarse)
    fine = F.interpolate(coarse, (16, 24), mode="bilinear", align_corners=False)
    torch.testing.assert_close(block(x), F.relu(x + fine))


def test_a_coarse_block_has_more_channels_inside() -> None:
    block = ResidualBlock(3, 4)
    assert (block.conv1.out_channels, block.conv2.in_channels) == (12, 12)


def test_a_trunk_has_fine_blocks_and_then_coarser_ones() -> None:
    assert [block.factor for block in Trunk(3, 2, 3).blocks()] == [1, 1, 2, 4, 8]


@pytest.mark.parametrize("factor", [1, 2, 4, 8])
@pytest.mark.parametrize("shape", [(13, 18), (57, 44), (16, 24), (1, 5)])
def test_coarser_pixels_cover_odd_images(factor: int, shape: tuple[int, int]) -> None:
    x = torch.full((1, 2, *shape), 3.0)
    coarse = down(x, factor)
    assert coarse.shape[-2:] == tuple(-(-side // factor) for side in shape)
    torch.testing.assert_close(up(coarse, factor, x), x)  # pixels beyond the edge count for nothing


@pytest.mark.parametrize("coarse", [0, 2])
def test_layout_of_the_memory_does_not_matter(coarse: int) -> None:
    torch.manual_seed(0)
    trunk = Trunk(4, 1, coarse).train()
    x = torch.randn(2, 4, 13, 18)
    expected = trunk(x)
    torch.testing.assert_close(trunk(x.contiguous(memory_format=torch.channels_last)), expected)
    torch.testing.assert_close(channels_last(trunk)(x), expected)
