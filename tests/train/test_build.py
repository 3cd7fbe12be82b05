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
from acdnet.fast.training import FoldedTrainingBlock
from acdnet.model.acdnet import ACDNet
from acdnet.model.residual import ResidualBlock
from acdnet.train.build import check_first, load_weights, make_model, set_up
from acdnet.train.config import from_dict
from acdnet.weights.save import save_model
from tests.helpers import make_input
from tests.helpers import make_model as make_random
from tests.train.make import small_store

SMALL = ACDNetConfig(T=2, N=2, d=3, p=3, N_p=2, blocks=1)


@pytest.mark.parametrize("sizes", [{"T": 1}, {"T": 1, "coarse": 1, "first": "tracefit"}])
def test_last_stages_can_be_dropped(tmp_path: Path, sizes: dict[str, Any]) -> None:
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
        ({"last": "trace_correction"}, "model.last"),
    ],
)
def test_what_changes_with_start_from_must_be_set(tmp_path: Path, sizes: dict[str, Any], named: str) -> None:
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
    for still in ({"last": "trace_correction"}, {"T": 1}):
        begun, _ = make_model(from_dict({"model": same | still, "training": {"fixed_norms": True}}))
        assert isinstance(begun, ACDNet)
        for name, value in begun.prox_last.state_dict().items():
            assert torch.equal(value, known[name])
    assert make_model(from_dict({"model": same | sizes}))
    with pytest.raises(ConfigError, match="fixed_norms"):
        make_model(from_dict({"model": same | sizes, "training": {"fixed_norms": True}}))


def test_start_from(tmp_path: Path) -> None:
    model = ACDNet(SMALL)
    path = tmp_path / "short.safetensors"
    save_model(model, path, name="short", summary="short", architecture="acdnet-s")
    sizes = {"T": 3, "N": 2, "d": 3, "p": 3, "N_p": 4, "blocks": 1}
    config = from_dict({"model": {"start_from": str(path), **sizes}})
    assert make_model(config)[0].config == replace(SMALL, T=3, N_p=4)
    for other in ({"N": 1}, {"N_p": 1}):
        with pytest.raises(ConfigError, match="cannot be expanded"):
            make_model(from_dict({"model": {"start_from": str(path), **sizes, **other}}))


def test_weights_of_other_sizes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="other sizes"):
        load_weights(ACDNet(replace(SMALL, coarse=1)), ACDNet(SMALL).state_dict(), tmp_path)


def test_settings_reach_every_block() -> None:
    model = ACDNet(SMALL)
    set_up(model, from_dict({"training": {"bfloat16": True, "patches_per_pair": 2, "fixed_norms": True}}))
    blocks = [module for module in model.modules() if isinstance(module, ResidualBlock)]
    assert blocks
    for block in blocks:
        assert isinstance(block, FoldedTrainingBlock)
        assert block.short
        assert not block.norm1.training
    assert model.start.patches_per_pair == 2
    assert {stage.patches_per_pair for stage in model.stages} == {2}


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
