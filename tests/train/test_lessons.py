"""Every kind of network learns by the same loop: it lowers its loss, leaves a model, and the model reduces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acdnet.data.pairs import open_pairs
from acdnet.data.recipe import Recipe
from acdnet.errors import ConfigError, InputRefused
from acdnet.evaluate.cases import Case
from acdnet.evaluate.contestants import contestant
from acdnet.reduction.reducer import make_reducer, reduce_slice
from acdnet.train.config import TrainConfig, from_dict
from acdnet.train.loop import Trainer, train
from acdnet.train.processes import make_fabric
from tests.train.make import SIZE, small_store

KINDS = ("cnnmar", "dudonet-s", "dscmar-s", "dudonet++-s")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    recipe = Recipe(pairs=1, size=SIZE, sinograms=True)
    return small_store(tmp_path_factory.mktemp("lessons"), recipe=recipe)


def settings(store: Path, folder: Path, architecture: str, **training: Any) -> TrainConfig:
    sizes = {"width": 4} if architecture == "cnnmar" else {"width": 2}
    given: dict[str, Any] = {
        "name": architecture,
        "model": {"architecture": architecture, **sizes},
        "data": {"train": [str(store)], "val": [str(store)], "val_splits": ["val"], "val_pairs": 1, "grid": 48},
        "training": {"patches": 6, "patch": 32} | ({"batch": 2} if architecture == "cnnmar" else {}) | training,
        "run": {"folder": str(folder), "log_steps": 1, "device": "cpu"},
    }
    return from_dict(given)


@pytest.mark.parametrize("architecture", KINDS)
def test_trains_scores_and_reduces(architecture: str, store: Path, tmp_path: Path) -> None:
    card = train(settings(store, tmp_path / "run", architecture), resume=False)
    assert card is not None
    assert card.training is not None
    assert card.training.patches_seen == 6
    assert ("6 patches of 32" if architecture == "cnnmar" else "6 whole slices") in card.training.data
    assert np.isfinite(list(card.scores.values())).all()
    model = tmp_path / "run/model.safetensors"

    pairs = open_pairs(store, ["val"])
    case = Case.read(pairs, 0)
    image = contestant(str(model)).run(case)
    assert image.shape == case.pair.clean.shape
    assert np.isfinite(image).all()

    kind = card.config.network
    reducer = make_reducer(kind, str(model))
    outcome = reduce_slice(reducer, case.pair.corrupted, case.pair.metal, (1.0, 1.0))
    assert np.all(outcome.change[case.pair.metal] == 0)
    assert np.isfinite(outcome.change).all()
    with pytest.raises(ConfigError, match="is a model of"):
        make_reducer("acdnet", str(model))


@pytest.mark.parametrize("architecture", ["cnnmar", "dudonet-s"])
def test_learning_lowers_the_loss(architecture: str, store: Path, tmp_path: Path) -> None:
    config = settings(store, tmp_path, architecture, patches=400, rate=1e-2, warm_up=0.0)
    trainer = Trainer(config, make_fabric(config))
    batch = next(trainer.batches(trainer.lesson.examples(trainer.train, config, 0, 0.0)))
    first = trainer.learn(batch).total.item()
    for _ in range(40):
        trainer.step += 1
        last = trainer.learn(batch).total.item()
    assert last < 0.7 * first


def test_networks_in_both_domains_take_one_slice_at_a_time(store: Path, tmp_path: Path) -> None:
    config = settings(store, tmp_path, "dudonet-s", batch=2)
    with pytest.raises(ConfigError, match="one slice"):
        Trainer(config, make_fabric(config))


def test_a_store_without_sinograms_is_refused_where_they_are_needed(tmp_path: Path) -> None:
    plain = small_store(tmp_path, 3)
    config = settings(plain, tmp_path / "run", "cnnmar")
    with pytest.raises(InputRefused, match="--sinograms"):
        train(config, resume=False)


def test_sizes_of_another_network_are_refused() -> None:
    with pytest.raises(ConfigError, match="no size of dudonet"):
        from_dict({"model": {"architecture": "dudonet", "T": 3}}).model.network()
