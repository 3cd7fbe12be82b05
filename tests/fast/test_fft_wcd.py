"""The operators by FFT against the plain ones, and the switch between them."""

import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from acdnet.fast.fft_wcd import FFT
from acdnet.model import wcd
from acdnet.model.wcd import PLAIN
from tests.helpers import make_input, make_model


def case(B: int, N: int, p: int, H: int, W: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Make C, M and R in double precision."""
    g = torch.Generator().manual_seed(seed)
    shapes = (B, N, p, p), (B, N, H, W), (B, 1, H, W)
    C, M, R = (torch.randn(shape, generator=g, dtype=torch.float64) for shape in shapes)
    return C, M, R


@settings(max_examples=50, deadline=None)
@given(
    B=st.integers(1, 3), N=st.integers(1, 4), H=st.integers(1, 57), W=st.integers(1, 44), seed=st.integers(0, 99),
    p=st.sampled_from([1, 3, 5, 9]),
)  # fmt: skip
def test_numbers_equal_the_plain_operators(B: int, N: int, H: int, W: int, seed: int, p: int) -> None:
    C, M, R = case(B, N, p, H, W, seed)
    torch.testing.assert_close(FFT.synthesise(C, M), PLAIN.synthesise(C, M))
    torch.testing.assert_close(FFT.analyse(C, R), PLAIN.analyse(C, R))
    torch.testing.assert_close(FFT.lags(M, R, p), PLAIN.lags(M, R, p))


@pytest.mark.parametrize("size", [(13, 18), (16, 5)])
def test_gradients_equal_those_of_the_plain_operators(size: tuple[int, int]) -> None:
    C, M, R = (value.requires_grad_() for value in case(2, 3, 5, *size))
    for ours, plain, inputs in (
        (FFT.synthesise(C, M), PLAIN.synthesise(C, M), (C, M)),
        (FFT.analyse(C, R), PLAIN.analyse(C, R), (C, R)),
        (FFT.lags(M, R, 5), PLAIN.lags(M, R, 5), (M, R)),
    ):
        weight = torch.randn_like(ours)
        gradients = torch.autograd.grad(ours, inputs, weight), torch.autograd.grad(plain, inputs, weight)
        torch.testing.assert_close(*gradients)


def test_kept_spectra_belong_to_their_maps() -> None:
    C, M, R = case(1, 4, 3, 13, 18)
    wide = torch.randn(1, 4, 5, 5, dtype=torch.float64)
    with torch.inference_mode():
        for maps in (M, 2.0 * M, M):
            torch.testing.assert_close(FFT.synthesise(C, maps), PLAIN.synthesise(C, maps))
            torch.testing.assert_close(FFT.lags(maps, R, 3), PLAIN.lags(maps, R, 3))
        torch.testing.assert_close(FFT.synthesise(wide, M), PLAIN.synthesise(wide, M))


def test_a_whole_network_gives_the_same_numbers() -> None:
    model, inputs = make_model().double(), make_input(2, 13, 18)
    Y, X_li, I = inputs[0].double(), inputs[1].double(), inputs[2]
    found = {}
    for name, operators in (("plain", PLAIN), ("fft", FFT)):
        with wcd.computed_by(operators), torch.no_grad():
            found[name] = model(Y, X_li, I, details=True)
    torch.testing.assert_close(found["fft"].image, found["plain"].image)
    torch.testing.assert_close(found["fft"].artifacts, found["plain"].artifacts)
    torch.testing.assert_close(found["fft"].kernels, found["plain"].kernels)


SHOW = "print(wcd._operators is wcd.PLAIN)"


def test_the_public_network_switches_them_on() -> None:
    script = f"from acdnet.model import wcd; {SHOW}; import acdnet; acdnet.ACDNet; {SHOW}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_operators_are_put_back_after_an_error() -> None:
    before = wcd._operators
    other = PLAIN if before is FFT else FFT

    def fail() -> None:
        with wcd.computed_by(other):
            assert wcd._operators is other
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert wcd._operators is before
