from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from acdnet.config import ARCHITECTURES, ACDNetConfig
from acdnet.data.pairs import open_pairs
from acdnet.data.recipe import Recipe
from acdnet.errors import ConfigError, InputRefused
from acdnet.model.acdnet import ACDNet
from acdnet.model.trunk import Trunk
from acdnet.train.begin import begun_with, check_first, load_weights, make_model, set_up
from acdnet.train.config import from_dict
from acdnet.train.grow import grown
from acdnet.train.loss import acdnet_loss
from acdnet.weights.save import save_model
from tests.helpers import make_input
from tests.helpers import make_model as make_random
from tests.train.make import small_store

SMALL = ACDNetConfig(T=2, N=2, d=3, p=3, N_p=2, blocks=1)


@pytest.mark.parametrize("order", ["KMX", "XMK"])
@pytest.mark.parametrize("sizes", [{"T": 5}, {"N_p": 6}, {"T": 4, "N_p": 3}, {"coarse": 2}, {"T": 3, "coarse": 1}])
def test_a_grown_network_computes_the_same(order: str, sizes: dict[str, Any]) -> None:
    small = make_random(replace(SMALL, order=order, blocks=2))
    larger = grown(small, replace(small.config, **sizes)).eval()
    Y, X_li, I = make_input(2, 16, 18)
    with torch.no_grad():
        before, after = small(Y, X_li, I), larger(Y, X_li, I)
    torch.testing.assert_close(after.image, before.image)
    for a, b in zip(before.artifacts, after.artifacts, strict=False):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("sizes", [{"T": 1}, {"T": 1, "coarse": 1, "first": "tracefit"}])
def test_last_stages_can_be_left_out(tmp_path: Path, sizes: dict[str, Any]) -> None:
    known = make_random(SMALL)
    save_model(known, tmp_path / "known.safetensors", name="known", summary="for a test")
    given = {"T": 1, "N": 2, "d": 3, "p": 3, "N_p": 2, "blocks": 1, **sizes}
    config = from_dict({"model": {"start_from": str(tmp_path / "known.safetensors"), **given}})
    shorter, _ = make_model(config)
    assert shorter.config == replace(SMALL, **sizes)
    Y, X_li, I = make_input(2, 16, 18)
    with torch.no_grad():
        before, after = known(Y, X_li, I), shorter.eval()(Y, X_li, I)
    torch.testing.assert_close(after.images, before.images[:2])
    torch.testing.assert_close(after.artifacts, before.artifacts[:1])


@pytest.mark.parametrize(
    ("sizes", "named"),
    [
        ({"T": 4}, "model.T = 3"),
        ({"coarse": 4}, "model.coarse = 3"),
        ({"first": "tracefit"}, "model.first"),
        ({"last": "beside"}, "model.last"),
    ],
)
def test_what_changes_with_start_from_has_to_be_said(tmp_path: Path, sizes: dict[str, Any], named: str) -> None:
    known = ACDNet(replace(ARCHITECTURES["acdnet-s"], N=2, d=3, p=3, N_p=2, blocks=1, **sizes))
    save_model(known, tmp_path / "known.safetensors", name="known", summary="for a test")
    given = {"architecture": "acdnet-s", "N": 2, "d": 3, "p": 3, "N_p": 2, "blocks": 1}
    config = from_dict({"model": {"start_from": str(tmp_path / "known.safetensors"), **given}})
    with pytest.raises(ConfigError, match=named):
        make_model(config)


@pytest.mark.parametrize("sizes", [{"T": 3}, {"N_p": 4}, {"first": "tracefit"}])
def test_statistics_of_another_network_are_refused(tmp_path: Path, sizes: dict[str, Any]) -> None:
    save_model(make_random(SMALL), tmp_path / "known.safetensors", name="known", summary="for a test")
    same = {"T": 2, "N": 2, "d": 3, "p": 3, "N_p": 2, "blocks": 1, "start_from": str(tmp_path / "known.safetensors")}
    known = make_random(SMALL).prox_last.state_dict()
    for still in ({"last": "beside"}, {"T": 1}):
        begun, _ = make_model(from_dict({"model": same | still, "training": {"fixed_norms": True}}))
        assert isinstance(begun, ACDNet)
        for name, value in begun.prox_last.state_dict().items():
            assert torch.equal(value, known[name])
    assert make_model(from_dict({"model": same | sizes}))
    with pytest.raises(ConfigError, match="fixed_norms"):
        make_model(from_dict({"model": same | sizes, "training": {"fixed_norms": True}}))


def test_awakened_stages_are_active_and_all_else_stays(tmp_path: Path) -> None:
    known = make_random(SMALL)
    save_model(known, tmp_path / "known.safetensors", name="known", summary="for a test")
    given = {"T": 4, "N": 2, "d": 3, "p": 3, "N_p": 2, "blocks": 1, "start_from": str(tmp_path / "known.safetensors")}
    silent, _ = make_model(from_dict({"model": given}))
    awake, _ = make_model(from_dict({"model": given | {"awaken": 2}}))
    changed = {name for name, value in awake.state_dict().items() if not torch.equal(value, silent.state_dict()[name])}
    assert changed
    assert all(name.startswith(("stages.2.prox_X.", "stages.3.prox_X.")) for name in changed)
    Y, X_li, I = make_input(2, 16, 18)
    with torch.no_grad():
        before, after = silent.eval()(Y, X_li, I), awake.eval()(Y, X_li, I)
    torch.testing.assert_close(after.images[:3], before.images[:3])
    assert not torch.allclose(after.images[3], after.images[2])
    with pytest.raises(ConfigError, match="fixed_norms"):
        make_model(from_dict({"model": given | {"T": 2, "awaken": 1}, "training": {"fixed_norms": True}}))


def test_coarse_blocks_can_be_left_out() -> None:
    known = make_random(replace(SMALL, coarse=2))
    plain = grown(known, replace(SMALL, T=3, N_p=4)).state_dict()
    for name, value in ACDNet(SMALL).state_dict().items():
        corner = tuple(slice(0, size) for size in value.shape)
        torch.testing.assert_close(plain[name][corner], known.state_dict()[name])


def test_a_grown_network_learns_in_all_its_parts() -> None:
    small = make_random(SMALL)
    larger = grown(small, replace(SMALL, T=3, N_p=4, coarse=2)).train()
    Y, X_li, I = make_input(2, 16, 18)
    gradients = []
    for fast in (True, False):
        for module in larger.modules():
            if isinstance(module, Trunk):
                module.fast_on_cpu = fast
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
    heard = gradients[0]["prox_last.trunk.0.conv1.weight"][:3, 3:]  # what the old channels hear of the new ones
    assert heard.abs().max() > 0


def test_start_from(tmp_path: Path) -> None:
    model = ACDNet(SMALL)
    path = tmp_path / "short.safetensors"
    save_model(model, path, name="short", summary="short", architecture="acdnet-s")
    sizes = {"T": 3, "N": 2, "d": 3, "p": 3, "N_p": 4, "blocks": 1}
    config = from_dict({"model": {"start_from": str(path), **sizes}})
    assert make_model(config)[0].config == replace(SMALL, T=3, N_p=4)
    for other in ({"N": 1}, {"N_p": 1}):
        with pytest.raises(ConfigError, match="cannot be grown"):
            make_model(from_dict({"model": {"start_from": str(path), **sizes, **other}}))


def test_checkpoints_from_before_k_was_shared_say_so() -> None:
    old = from_dict({"training": {"batch": 8}}).to_dict()
    del old["training"]["together"]
    assert begun_with(old).training.together == 1
    assert begun_with(from_dict({"training": {"together": 2}}).to_dict()).training.together == 2


def test_weights_of_other_sizes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="other sizes"):
        load_weights(ACDNet(replace(SMALL, coarse=1)), ACDNet(SMALL).state_dict(), tmp_path)


def test_settings_reach_every_trunk() -> None:
    model = ACDNet(SMALL)
    set_up(model, from_dict({"model": {"frugal": True, "bfloat16": True}, "training": {"together": 2}}))
    trunks = [module for module in model.modules() if isinstance(module, Trunk)]
    assert trunks
    assert all(trunk.frugal and trunk.short for trunk in trunks)
    assert model.start.together == 2


def test_pairs_without_the_first_image_are_refused_at_once(tmp_path: Path) -> None:
    with_, without = (
        open_pairs(small_store(tmp_path, 1, name, Recipe("clinical", pairs=1, size=64, tracefit=name == "with")))
        for name in ("with", "without")
    )
    fitted = replace(SMALL, first="tracefit")
    check_first(SMALL, [with_, without])
    check_first(fitted, [with_])
    with pytest.raises(InputRefused, match="without: has no images after a trace fit"):
        check_first(fitted, [with_, without])
