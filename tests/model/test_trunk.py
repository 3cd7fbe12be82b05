"""The trunk as trained on CPUs against autograd of its plain statement."""

import copy

import pytest
import torch
from torch import Tensor

from acdnet.model.trunk import Trunk


def run(trunk: Trunk, x: Tensor, weight: Tensor) -> tuple[Tensor, list[Tensor]]:
    x = x.clone().requires_grad_()
    y = trunk(x)
    return y.detach(), list(torch.autograd.grad((y * weight).sum(), [x, *trunk.parameters()]))


@pytest.mark.parametrize("frugal", [False, True])
@pytest.mark.parametrize("coarse", [0, 2])
@pytest.mark.parametrize("shape", [(2, 3, 13, 18), (3, 5, 16, 8)])
def test_equals_autograd(shape: tuple[int, int, int, int], coarse: int, frugal: bool) -> None:
    torch.manual_seed(0)
    plain = Trunk(shape[1], 2, coarse).double().train()
    with torch.no_grad():
        for parameter in plain.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    fast = copy.deepcopy(plain)
    plain.fast_on_cpu, fast.frugal = False, frugal
    x, weight = torch.randn(2, *shape, dtype=torch.float64)
    y, grads = run(plain, x, weight)
    y_fast, grads_fast = run(fast, x, weight)
    torch.testing.assert_close(y_fast, y)
    torch.testing.assert_close(grads_fast, grads, atol=1e-9, rtol=1e-9)
    for (name, expected), found in zip(plain.named_buffers(), fast.buffers(), strict=True):
        torch.testing.assert_close(found, expected, msg=name)


@pytest.mark.parametrize("frugal", [False, True])
@pytest.mark.parametrize("coarse", [0, 2])
def test_fixed_statistics_equal_evaluation_and_its_gradient(coarse: int, frugal: bool) -> None:
    torch.manual_seed(0)
    plain = Trunk(3, 2, coarse).double().train()
    x, weight = torch.randn(2, 2, 3, 13, 18, dtype=torch.float64)
    with torch.no_grad():
        for parameter in plain.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
        plain(x)  # statistics that are not those of the start
    for module in plain.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.eval()
    fast = copy.deepcopy(plain)
    plain.fast_on_cpu, fast.frugal = False, frugal
    y, grads = run(plain, x, weight)
    y_fast, grads_fast = run(fast, x, weight)
    torch.testing.assert_close(y_fast, y)
    torch.testing.assert_close(grads_fast, grads, atol=1e-9, rtol=1e-9)
    torch.testing.assert_close(y_fast, fast.eval()(x))
    torch.testing.assert_close(dict(fast.named_buffers()), dict(plain.named_buffers()), rtol=0, atol=0)


@pytest.mark.parametrize("frugal", [False, True])
@pytest.mark.parametrize("coarse", [0, 1])
def test_short_numbers_change_little(coarse: int, frugal: bool) -> None:
    torch.manual_seed(0)
    exact = Trunk(4, 2, coarse).train()
    short = copy.deepcopy(exact)
    short.short, short.frugal = True, frugal
    x, weight = torch.randn(2, 2, 4, 16, 12)
    y, grads = run(exact, x, weight)
    y_short, grads_short = run(short, x, weight)
    assert not torch.equal(y, y_short)
    assert all(gradient.dtype == torch.float32 for gradient in grads_short)
    assert (y_short - y).norm() <= 0.02 * y.norm()
    expected, found = (torch.cat([gradient.flatten() for gradient in each]) for each in (grads, grads_short))
    assert (found - expected).norm() <= 0.1 * expected.norm()  # a ReLU may close that was open


def test_frugal_changes_no_bit() -> None:
    torch.manual_seed(0)
    lavish = Trunk(4, 3).train()
    frugal = copy.deepcopy(lavish)
    frugal.frugal = True
    x, weight = torch.randn(2, 2, 4, 16, 12)
    for a, b in zip(run(lavish, x, weight)[1], run(frugal, x, weight)[1], strict=True):
        assert torch.equal(a, b)


def test_layout_of_the_input_does_not_matter() -> None:
    torch.manual_seed(0)
    trunk = Trunk(4, 1).train()
    x = torch.randn(2, 4, 8, 8)
    torch.testing.assert_close(trunk(x), trunk(x.contiguous(memory_format=torch.channels_last)))


@pytest.mark.parametrize("change", ["frozen", "eps", "momentum"])
def test_settings_of_the_normalisation_are_honoured(change: str) -> None:
    torch.manual_seed(0)
    fast = Trunk(3, 2).train()
    norm = next(fast.blocks()).norm1
    match change:
        case "frozen":
            norm.eval()
        case "eps":
            norm.eps = 0.5
        case "momentum":
            norm.momentum = None
    plain = copy.deepcopy(fast)
    plain.fast_on_cpu = False
    x = torch.randn(2, 3, 13, 18)
    torch.testing.assert_close(fast(x), plain(x))
    torch.testing.assert_close(dict(fast.named_buffers()), dict(plain.named_buffers()))


def test_second_derivatives_are_refused_rather_than_wrong() -> None:
    x = torch.randn(2, 3, 8, 8, requires_grad=True)
    (grad,) = torch.autograd.grad(Trunk(3, 1).train()(x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.square().sum().backward()
