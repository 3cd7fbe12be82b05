"""Blocks that fold fixed statistics compute what the plain blocks compute."""

import copy

import pytest
import torch
from torch import Tensor, nn

from acdnet.fast.training import FoldedTrainingBlock, fold_for_training
from acdnet.model.residual import Trunk
from tests.helpers import make_input, make_model


def make_trunk(channels: int, coarse: int, dtype: torch.dtype = torch.float64) -> Trunk:
    """Build a trunk in training mode with weights and statistics other than the initial ones."""
    torch.manual_seed(0)
    trunk = Trunk(channels, 2, coarse).to(dtype).train()
    with torch.no_grad():
        for parameter in trunk.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
        trunk(torch.randn(2, channels, 16, 16, dtype=dtype))
    return trunk


def folded(trunk: Trunk, bfloat16: bool = False) -> nn.Module:
    fast = copy.deepcopy(trunk)
    fold_for_training(fast, bfloat16)
    assert all(isinstance(block, FoldedTrainingBlock) for block in fast)
    return fast


def fix_statistics(network: nn.Module) -> None:
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eval()


def run(trunk: nn.Module, x: Tensor, weight: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Return the output and the gradients of the input and of all weights."""
    x = x.clone().requires_grad_()
    y = trunk(x)
    return y.detach(), list(torch.autograd.grad((y * weight).sum(), [x, *trunk.parameters()]))


@pytest.mark.parametrize("statistics", ["fixed", "batch"])
@pytest.mark.parametrize("coarse", [0, 2])
@pytest.mark.parametrize("shape", [(2, 3, 13, 18), (3, 5, 16, 8)])
def test_value_and_gradient_equal_the_plain_block(
    shape: tuple[int, int, int, int], coarse: int, statistics: str
) -> None:
    plain = make_trunk(shape[1], coarse)
    if statistics == "fixed":
        fix_statistics(plain)
    fast = folded(plain)
    x, weight = torch.randn(2, *shape, dtype=torch.float64)
    before = {name: value.clone() for name, value in plain.named_buffers()}
    y, gradients = run(plain, x, weight)
    y_fast, gradients_fast = run(fast, x, weight)
    torch.testing.assert_close(y_fast, y)
    torch.testing.assert_close(gradients_fast, gradients, atol=1e-9, rtol=1e-9)
    buffers = dict(plain.named_buffers())
    torch.testing.assert_close(dict(fast.named_buffers()), buffers)
    moved = any(not torch.equal(before[name], value) for name, value in buffers.items())
    assert moved == (statistics == "batch")


@pytest.mark.parametrize("coarse", [0, 2])
def test_evaluation_equals_the_plain_block(coarse: int) -> None:
    plain = make_trunk(3, coarse).eval()
    x = torch.randn(2, 3, 13, 18, dtype=torch.float64)
    torch.testing.assert_close(folded(plain)(x), plain(x))


@pytest.mark.parametrize("change", ["one fixed", "eps", "momentum"])
@pytest.mark.parametrize("statistics", ["fixed", "batch"])
def test_settings_of_the_normalisation_are_honoured(change: str, statistics: str) -> None:
    plain = make_trunk(3, 0)
    if statistics == "fixed":
        fix_statistics(plain)
    norm = next(plain.blocks()).norm1
    match change:
        case "one fixed":
            norm.eval()
        case "eps":
            norm.eps = 0.5
        case "momentum":
            norm.momentum = None
    fast = folded(plain)
    x = torch.randn(2, 3, 13, 18, dtype=torch.float64)
    torch.testing.assert_close(fast(x), plain(x))
    torch.testing.assert_close(dict(fast.named_buffers()), dict(plain.named_buffers()))


@pytest.mark.parametrize("statistics", ["fixed", "batch"])
@pytest.mark.parametrize("coarse", [0, 1])
def test_bfloat16_changes_little_and_only_in_training(coarse: int, statistics: str) -> None:
    exact = make_trunk(4, coarse, torch.float32)
    if statistics == "fixed":
        fix_statistics(exact)
    short = folded(exact, bfloat16=True)
    x, weight = torch.randn(2, 2, 4, 16, 12)
    y, gradients = run(exact, x, weight)
    y_short, gradients_short = run(short, x, weight)
    assert not torch.equal(y, y_short)
    assert all(gradient.dtype == torch.float32 for gradient in gradients_short)
    assert (y_short - y).norm() <= 0.02 * y.norm()
    expected, found = (torch.cat([one.flatten() for one in each]) for each in (gradients, gradients_short))
    assert (found - expected).norm() <= 0.15 * expected.norm()  # a ReLU that was open may close
    short.load_state_dict(exact.state_dict())  # batch statistics have moved
    torch.testing.assert_close(short.eval()(x), exact.eval()(x))


def test_a_whole_network_keeps_its_weights_under_their_names() -> None:
    plain = make_model().train()
    fix_statistics(plain)
    fast = copy.deepcopy(plain)
    fold_for_training(fast)
    torch.testing.assert_close(fast.state_dict(), plain.state_dict(), rtol=0, atol=0)
    inputs = make_input(2, 13, 18)
    torch.testing.assert_close(fast(*inputs).image, plain(*inputs).image, atol=1e-3, rtol=1e-5)
