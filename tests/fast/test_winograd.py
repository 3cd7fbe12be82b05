"""Winograd's convolution against torch's."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from acdnet.fast.winograd import WinogradTrunk, pack, unpack
from tests.helpers import with_threads


def trunks(channels: int, blocks: int) -> list[tuple[nn.Conv2d, nn.Conv2d]]:
    torch.manual_seed(0)
    return [tuple(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2)) for _ in range(blocks)]  # type: ignore[misc]


@settings(max_examples=20, deadline=None)
@given(C=st.integers(1, 9), H=st.integers(1, 30), W=st.integers(1, 30))
def test_packing_is_undone_by_unpacking(C: int, H: int, W: int) -> None:
    image = torch.rand(C, H, W)
    assert torch.equal(unpack(pack(image), H, W), image)


@pytest.mark.parametrize("size", [(13, 18), (57, 44), (4, 4), (1, 1), (3, 129), (70, 65)])
def test_equals_direct_convolution(size: tuple[int, int]) -> None:
    convs = trunks(5, 3)
    x = torch.rand(5, *size)
    packed = pack(x)
    WinogradTrunk(convs)(packed, *size)
    expected = x[None]
    with torch.no_grad():
        for conv1, conv2 in convs:
            expected = torch.relu(conv2(torch.relu(conv1(expected))) + expected)
    torch.testing.assert_close(unpack(packed, *size), expected[0], atol=1e-5, rtol=1e-5)


def test_sizes_that_share_a_layout_do_not_share_their_borders() -> None:
    """15 x 14 and 16 x 16 are packed alike; what one leaves behind may not reach the other."""
    trunk = WinogradTrunk(trunks(3, 2))
    small = torch.rand(3, 15, 14)
    alone = pack(small)
    trunk(alone, 15, 14)
    trunk(pack(100 + torch.rand(3, 16, 16)), 16, 16)
    again = pack(small)
    trunk(again, 15, 14)
    assert torch.equal(alone, again)


def test_number_of_threads_changes_no_bit() -> None:
    trunk = WinogradTrunk(trunks(33, 2))
    x = torch.rand(33, 45, 130)

    def compute() -> tuple[torch.Tensor, int]:
        packed = pack(x)
        trunk(packed, 45, 130)
        return packed.clone(), torch.get_num_threads()

    found = with_threads((1, 2, 4), compute)
    assert [threads for _, threads in found] == [1, 2, 4]
    assert all(torch.equal(found[0][0], other) for other, _ in found)


def test_kept_arrays_serve_within_inference_mode_and_outside() -> None:
    trunk = WinogradTrunk(trunks(4, 1))

    def compute() -> None:
        with torch.inference_mode():
            trunk(pack(torch.rand(4, 22, 27)), 22, 27)
        trunk(pack(torch.rand(4, 22, 27)), 22, 27)

    with_threads((1,), compute)  # the caller's thread does the work and keeps the arrays
