"""The network as a whole."""

import pytest
import torch

from acdnet.config import ARCHITECTURES, ORDERS, ACDNetConfig
from acdnet.fast.inference import InferenceACDNet
from acdnet.model.acdnet import ACDNet
from acdnet.model.dictionary import oriented_streaks
from acdnet.weights.load import load_model
from tests.helpers import SMALL, make_input, make_model


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_parameter_count(name: str) -> None:
    config = ARCHITECTURES[name]
    assert sum(p.numel() for p in ACDNet(config).parameters()) == config.count_parameters()


def test_the_paper_has_1602809_parameters_of_which_1921_do_nothing() -> None:
    assert ACDNetConfig().count_parameters() == 1_602_809 - 1_921


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_runs_and_learns(order: str) -> None:
    config = ACDNetConfig(**{**SMALL.to_dict(), "order": order})
    torch.manual_seed(0)
    model = ACDNet(config).train()
    assert sum(p.numel() for p in model.parameters()) == config.count_parameters()
    Y, X_li, I = make_input(2, 13, 18)
    r = model(Y, X_li, I, details=True)
    assert len(r.images) == config.T + 1
    loss = torch.stack([x.square().mean() for x in (r.image, *r.images, *r.artifacts)]).sum()
    loss.backward()
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            assert name == "stages.0.eta_K"
            continue
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_orders_give_different_results() -> None:
    Y, X_li, I = make_input(1, 13, 18)
    with torch.no_grad():
        images = [make_model(ACDNetConfig(**{**SMALL.to_dict(), "order": o}))(Y, X_li, I).image for o in ORDERS]
    for a in range(len(images)):
        for b in range(a):
            assert not torch.allclose(images[a], images[b])


@pytest.mark.parametrize("size", [(13, 18), (57, 44)])
def test_shapes_of_the_record(size: tuple[int, int]) -> None:
    T, N, d, p = SMALL.T, SMALL.N, SMALL.d, SMALL.p
    with torch.no_grad():
        r = make_model()(*make_input(2, *size), details=True)
    assert r.image.shape == (2, 1, *size)
    assert [x.shape for x in r.images] == [(2, 1, *size)] * (T + 1)
    assert [x.shape for x in r.artifacts] == [(2, 1, *size)] * T
    assert [x.shape for x in r.K] == [(2, N, d)] * T
    assert [x.shape for x in r.M] == [(2, N, *size)] * T
    assert [x.shape for x in r.kernels] == [(2, N, p, p)] * T


def test_details_only_on_request() -> None:
    with torch.no_grad():
        r = make_model()(*make_input(1, 13, 18))
    assert (r.K, r.M, r.kernels) == ((), (), ())


@pytest.mark.parametrize("size", [(13, 18), (57, 44)])
def test_samples_of_a_batch_are_independent(size: tuple[int, int]) -> None:
    model = make_model()
    Y, X_li, I = make_input(3, *size)
    with torch.no_grad():
        together = model(Y, X_li, I)
        for b in range(3):
            alone = model(Y[b : b + 1], X_li[b : b + 1], I[b : b + 1])
            torch.testing.assert_close(together.image[b : b + 1], alone.image, atol=1e-4, rtol=1e-5)
            torch.testing.assert_close(together.artifacts[-1][b : b + 1], alone.artifacts[-1], atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e30])
def test_values_under_the_metal_have_no_effect(value: float) -> None:
    model = make_model()
    Y, X_li, I = make_input(1, 13, 18)
    with torch.no_grad():
        expected = model(Y, X_li, I)
        found = model(torch.where(I, Y, value), X_li, I)
    assert torch.equal(found.image, expected.image)
    assert torch.equal(found.artifacts[-1], expected.artifacts[-1])


def test_nan_under_the_metal_does_not_reach_the_gradients() -> None:
    model = make_model().train()
    Y, X_li, I = make_input(2, 13, 18)
    model(torch.where(I, Y, float("nan")), X_li, I).image.square().mean().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


def test_the_mask_can_be_numeric() -> None:
    Y, X_li, I = make_input(1, 13, 18)
    with torch.no_grad():
        assert torch.equal(make_model()(Y, X_li, I).image, make_model()(Y, X_li, I.float()).image)


@pytest.mark.parametrize(("d", "p"), [(32, 9), (4, 5), (1, 3)])
def test_dictionary_begins_as_streaks_of_sum_one(d: int, p: int) -> None:
    kernels = oriented_streaks(d, p)
    assert kernels.shape == (d, p, p)
    assert (kernels >= 0).all()
    torch.testing.assert_close(kernels.sum(dim=(1, 2)), torch.ones(d))
    assert len({tuple(kernel.flatten().tolist()) for kernel in kernels}) == d


def test_arguments_that_do_not_fit_are_named() -> None:
    model = make_model()
    fast = InferenceACDNet(model)
    Y, X_li, I = make_input(2, 13, 18)
    for arguments, name in (
        ((Y[:0], X_li[:0], I[:0]), "Y is"),
        ((Y[0], X_li, I), "Y is"),
        ((Y, X_li[:1], I), "X_li is"),
        ((Y, X_li, I[:, 0]), "I is"),
        ((Y.double(), X_li, I), "Y is torch.float64"),
    ):
        for network in (model, fast):
            with pytest.raises(ValueError, match=name):
                network(*arguments)


def test_from_pretrained_loads_a_shipped_model() -> None:
    model, same = ACDNet.from_pretrained("clinical-s"), load_model("clinical-s")
    assert all(torch.equal(value, same.state_dict()[name]) for name, value in model.state_dict().items())
