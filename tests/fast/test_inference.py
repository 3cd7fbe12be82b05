"""The inference path gives what the training graph gives in evaluation mode."""

import pytest
import torch

from acdnet.config import ARCHITECTURES, ORDERS, ACDNetConfig
from acdnet.fast.inference import InferenceACDNet, JoinedProxX, WinogradProxX
from acdnet.units import NETWORK_RANGE
from tests.helpers import SMALL, make_input, make_model

TOLERANCE = 1e-4 * NETWORK_RANGE


@pytest.mark.parametrize("size", [(13, 18), (57, 44), (64, 64)])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_equals_evaluation(name: str, size: tuple[int, int]) -> None:
    model = make_model(ARCHITECTURES[name])
    inputs = make_input(2, *size)
    with torch.no_grad():
        expected = model(*inputs, details=True)
    found = InferenceACDNet(model)(*inputs, details=True)
    for field in ("images", "artifacts", "start_images", "start_artifacts", "K", "M", "kernels"):
        for t, (a, b) in enumerate(zip(getattr(found, field), getattr(expected, field), strict=True)):
            torch.testing.assert_close(a, b, atol=TOLERANCE, rtol=1e-5, msg=f"{field}[{t}]")
    torch.testing.assert_close(found.image, expected.image, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("order", ORDERS)
def test_every_order(order: str) -> None:
    model = make_model(ACDNetConfig(**{**SMALL.to_dict(), "order": order}))
    inputs = make_input(1, 13, 18)
    with torch.no_grad():
        expected = model(*inputs).image
    torch.testing.assert_close(InferenceACDNet(model)(*inputs).image, expected, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize(("N_p", "kind"), [(32, WinogradProxX), (15, JoinedProxX), (31, JoinedProxX)])
def test_the_faster_convolution_is_taken(N_p: int, kind: type) -> None:
    model = InferenceACDNet(make_model(ACDNetConfig(T=1, N=2, d=2, p=3, N_p=N_p, blocks=1)))
    assert isinstance(model.network.prox_last, kind)


def test_the_given_model_is_not_changed() -> None:
    model = make_model().train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    InferenceACDNet(model)(*make_input(1, 13, 18))
    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(p.requires_grad for name, p in model.named_parameters() if name != "stages.0.eta_K")


def test_no_gradient_is_recorded_and_results_do_not_share_memory() -> None:
    model = InferenceACDNet(make_model(ARCHITECTURES["acdnet"]))
    r = model(*make_input(1, 13, 18))
    assert not r.image.requires_grad
    assert all(x.untyped_storage().nbytes() == 13 * 18 * 4 for x in (r.image, *r.images))


def test_same_input_same_bits() -> None:
    model = InferenceACDNet(make_model(ARCHITECTURES["acdnet"]))
    inputs = make_input(1, 57, 44)
    first, _, second = model(*inputs), model(*make_input(1, 57, 44, seed=9)), model(*inputs)
    assert torch.equal(first.image, second.image)
    assert all(torch.equal(a, b) for a, b in zip(first.images, second.images, strict=True))


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_F33_values_that_are_not_finite_are_not_hidden(name: str, value: float) -> None:
    Y, X_li, I = make_input(1, 24, 20)
    X_li[0, 0, 10, 10] = value
    assert not InferenceACDNet(make_model(ARCHITECTURES[name]))(Y, X_li, I).image.isfinite().all()


def test_it_can_neither_be_trained_nor_moved() -> None:
    model = InferenceACDNet(make_model())
    inputs = make_input(1, 13, 18)
    before = model(*inputs).image
    assert torch.equal(model.train()(*inputs).image, before)
    for move in ("cpu", torch.float64, torch.float16):
        with pytest.raises(TypeError, match="move the ACDNet"):
            model.to(move)
