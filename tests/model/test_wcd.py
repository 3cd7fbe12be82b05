"""Eq. (2) and its adjoints."""

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from acdnet.model import wcd


def case(B: int, N: int, d: int, p: int, H: int, W: int, seed: int = 0) -> tuple[Tensor, ...]:
    g = torch.Generator().manual_seed(seed)
    shapes = (d, p, p), (B, N, d), (B, N, H, W), (B, 1, H, W)
    return tuple(torch.randn(shape, generator=g, dtype=torch.float64) for shape in shapes)


def inner(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum()


@pytest.fixture(autouse=True, scope="module")
def plain_operators() -> Iterator[None]:
    """Test the operators as they are written, not those by FFT that `acdnet.fast` may have switched on."""
    with wcd.computed_by(wcd.PLAIN):
        yield


def test_synthesise_is_the_sum_of_eq_2() -> None:
    D, K, M, _ = case(2, 3, 4, 5, 13, 18)
    expected = torch.zeros(2, 1, 13, 18, dtype=torch.float64)
    for b in range(2):
        for n in range(3):
            for i in range(4):
                expected[b] += K[b, n, i] * torch.conv2d(M[b, n][None], D[i][None, None], padding=2)
    torch.testing.assert_close(wcd.synthesise(wcd.mix(D, K), M), expected)


@settings(max_examples=25, deadline=None)
@given(
    B=st.integers(1, 3), N=st.integers(1, 4), H=st.integers(1, 40), W=st.integers(1, 40), seed=st.integers(0, 99),
    p=st.sampled_from([1, 3, 5, 9]),
)  # fmt: skip
def test_adjoints(B: int, N: int, H: int, W: int, seed: int, p: int) -> None:
    D, K, M, R = case(B, N, 4, p, H, W, seed)
    C = wcd.mix(D, K)
    forward = inner(wcd.synthesise(C, M), R)
    torch.testing.assert_close(inner(M, wcd.analyse(C, R)), forward)
    torch.testing.assert_close(inner(K, wcd.correlate(D, M, R)), forward)


def test_gradients_of_the_operators() -> None:
    D, K, M, R = (x.requires_grad_() for x in case(2, 2, 3, 3, 5, 6))
    assert torch.autograd.gradcheck(lambda D, K, M: wcd.synthesise(wcd.mix(D, K), M), (D, K, M))
    assert torch.autograd.gradcheck(lambda D, K, R: wcd.analyse(wcd.mix(D, K), R), (D, K, R))
    assert torch.autograd.gradcheck(wcd.correlate, (D, M, R))
