"""A trained network expanded to a larger one."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from acdnet.fast.training import fold_for_training
from acdnet.model.acdnet import ACDNet
from acdnet.model.loss import acdnet_loss
from acdnet.train.expand import expand
from tests.helpers import TINY, make_input
from tests.helpers import make_model as make_random

SMALL = replace(TINY, T=2)


@pytest.mark.parametrize("order", ["KMX", "XMK"])
@pytest.mark.parametrize("sizes", [{"T": 5}, {"N_p": 6}, {"T": 4, "N_p": 3}, {"coarse": 2}, {"T": 3, "coarse": 1}])
def test_an_expanded_network_computes_the_same(order: str, sizes: dict[str, Any]) -> None:
    small = make_random(replace(SMALL, order=order, blocks=2))
    larger = expand(small, replace(small.config, **sizes)).eval()
    Y, X_li, I = make_input(2, 16, 18)
    with torch.no_grad():
        before, after = small(Y, X_li, I), larger(Y, X_li, I)
    torch.testing.assert_close(after.image, before.image)
    for a, b in zip(before.artifacts, after.artifacts, strict=False):
        torch.testing.assert_close(a, b)


def test_coarse_blocks_can_be_dropped() -> None:
    known = make_random(replace(SMALL, coarse=2))
    plain = expand(known, replace(SMALL, T=3, N_p=4)).state_dict()
    for name, value in ACDNet(SMALL).state_dict().items():
        corner = tuple(slice(0, size) for size in value.shape)
        torch.testing.assert_close(plain[name][corner], known.state_dict()[name])


def test_an_expanded_network_has_gradients_in_all_parts() -> None:
    small = make_random(SMALL)
    larger = expand(small, replace(SMALL, T=3, N_p=4, coarse=2)).train()
    Y, X_li, I = make_input(2, 16, 18)
    gradients = []
    for prepare in (lambda _: None, fold_for_training):
        prepare(larger)
        larger.zero_grad()
        acdnet_loss(larger(Y, X_li, I), Y, X_li, I).total.backward()
        gradients.append(
            {name: value.grad.clone() for name, value in larger.named_parameters() if value.grad is not None}
        )
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], rtol=1e-3, atol=1e-2)
    new = larger.stages[2].prox_X.trunk[0].norm2.weight.grad  # type: ignore[union-attr, index]
    assert new is not None
    assert new.abs().max() > 0
    for name in ("trunk.1", "trunk.2"):  # on coarser grids
        assert gradients[0][f"prox_last.{name}.norm2.weight"].abs().max() > 0
    new_to_old = gradients[0]["prox_last.trunk.0.conv1.weight"][:3, 3:]
    assert new_to_old.abs().max() > 0
