from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from acdnet.config import ARCHITECTURES
from acdnet.data.pairs import open_pairs
from acdnet.data.recipe import Recipe
from acdnet.errors import ConfigError, InputRefused
from acdnet.fast.training import FoldedTrainingBlock
from acdnet.model.acdnet import ACDNet
from acdnet.model.residual import ResidualBlock
from acdnet.train.build import check_first, load_weights, make_model, set_up
from acdnet.train.config import from_dict
from acdnet.weights.save import save_model
from tests.data.make import small_store
from tests.helpers import TINY, make_input
from tests.helpers import make_model as make_random

SMALL = replace(TINY, T=2)
SIZES: dict[str, Any] = {"N": 2, "d": 3, "p": 3, "N_p": 2, "blocks": 1}


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return where a test saves the model to start from."""
    return str(tmp_path / "known.safetensors")


def save(model: ACDNet, path: str) -> None:
    save_model(model, Path(path), name="known", summary="for a test")


def started(path: str, training: dict[str, Any] | None = None, **sizes: Any) -> ACDNet:
    """Build a network that starts from a saved one."""
    model, _ = make_model(from_dict({"model": {"start_from": path, **SIZES, **sizes}, "training": training or {}}))
    assert isinstance(model, ACDNet)
    return model


@pytest.mark.parametrize("sizes", [{"T": 1}, {"T": 1, "coarse": 1, "first": "tracefit"}])
def test_last_stages_can_be_dropped(path: str, sizes: dict[str, Any]) -> None:
    known = make_random(SMALL)
    save(known, path)
    shorter = started(path, **sizes)
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
def test_settings_that_differ_from_the_initial_model_must_be_explicit(
    path: str, sizes: dict[str, Any], named: str
) -> None:
    save(ACDNet(replace(ARCHITECTURES["acdnet-s"], **SIZES, **sizes)), path)
    with pytest.raises(ConfigError, match=named):
        started(path, architecture="acdnet-s")


@pytest.mark.parametrize("sizes", [{"T": 3}, {"N_p": 4}, {"T": 2, "first": "tracefit"}])
def test_statistics_of_another_network_are_refused(path: str, sizes: dict[str, Any]) -> None:
    save(make_random(SMALL), path)
    known, fixed = make_random(SMALL).prox_last.state_dict(), {"fixed_norms": True}
    for still in ({"T": 2, "last": "trace_correction"}, {"T": 1}):
        for name, value in started(path, fixed, **still).prox_last.state_dict().items():
            assert torch.equal(value, known[name])
    sizes = {"T": 2} | sizes
    assert started(path, **sizes)
    with pytest.raises(ConfigError, match="fixed_norms"):
        started(path, fixed, **sizes)


def test_start_from(path: str) -> None:
    save(ACDNet(SMALL), path)
    assert started(path, T=3, N_p=4).config == replace(SMALL, T=3, N_p=4)
    for other in ("N", "N_p"):
        sizes: dict[str, Any] = {"T": 3, other: 1}
        with pytest.raises(ConfigError, match="cannot be expanded"):
            started(path, **sizes)


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
