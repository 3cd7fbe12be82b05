"""Every kind of network learns by the same loop: it lowers its loss, leaves a model, and the model reduces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from acdnet.data.pairs import open_pairs
from acdnet.data.recipe import Recipe
from acdnet.errors import ConfigError, InputRefused
from acdnet.evaluate.cases import Case
from acdnet.evaluate.contestants import contestant
from acdnet.physics.measured import attenuation
from acdnet.reduction.reducer import make_reducer, reduce_slice
from acdnet.rivals.cnnmar import three_images
from acdnet.rivals.observed import to_hu
from acdnet.train.config import TrainConfig, from_dict
from acdnet.train.lessons.acdnet import ACDNetLesson
from acdnet.train.lessons.cnnmar import ThreeImagePatches
from acdnet.train.lessons.dual import Slices, on_grid
from acdnet.train.loop import Trainer, train
from acdnet.train.loss import acdnet_loss
from acdnet.train.patches import Window
from acdnet.train.processes import make_fabric
from acdnet.weights.save import save_model
from tests.helpers import SMALL, make_input, make_model
from tests.train.make import SIZE, small_store

KINDS = ("cnnmar", "dudonet-s", "dscmar-s", "dudonet++-s")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    recipe = Recipe(pairs=1, size=SIZE, sinograms=True)
    return small_store(tmp_path_factory.mktemp("lessons"), recipe=recipe)


def settings(store: Path, folder: Path, architecture: str, grid: int = 0, **training: Any) -> TrainConfig:
    patches = architecture == "cnnmar"
    given: dict[str, Any] = {
        "name": architecture,
        "model": {"architecture": architecture, "width": 4 if patches else 2},
        "data": {"train": [str(store)], "val": [str(store)], "val_splits": ["val"], "val_pairs": 1, "grid": grid},
        "training": {"patches": 6} | ({"batch": 2, "patch": 32} if patches else {}) | training,
        "run": {"folder": str(folder), "log_steps": 1, "device": "cpu"},
    }
    return from_dict(given)


@pytest.mark.parametrize(("architecture", "grid"), [*((kind, 0) for kind in KINDS), ("dscmar-s", 48)])
def test_trains_scores_and_reduces(architecture: str, grid: int, store: Path, tmp_path: Path) -> None:
    card = train(settings(store, tmp_path / "run", architecture, grid), resume=False)
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


@pytest.mark.parametrize(
    ("architecture", "optimiser"), [("cnnmar", "adam"), ("dudonet-s", "adam"), ("dudonet-s", "muon")]
)
def test_learning_lowers_the_loss(architecture: str, optimiser: str, store: Path, tmp_path: Path) -> None:
    config = settings(store, tmp_path, architecture, patches=400, rate=1e-2, warm_up=0.0, optimiser=optimiser)
    trainer = Trainer(config, make_fabric(config))
    batch = next(trainer.batches(trainer.lesson.examples(trainer.train, config, 0, 0.0)))
    first = trainer.learn(batch).items()
    for _ in range(40):
        trainer.step += 1
        last = trainer.learn(batch).items()
    for term in first:
        assert last[term] < 0.9 * first[term], term


def test_the_truth_of_both_domains_is_that_of_the_store(store: Path) -> None:
    pairs = open_pairs(store, ["train"])
    examples = Slices([pairs], seed=0, grid=0)
    for n in range(3):
        observed, X, S = examples[n]
        every = range(len(pairs.infos()))
        (index,) = [k for k in every if np.abs(to_hu(X) - np.maximum(pairs.read(k).clean, -1000)).max() < 0.1]
        lines = pairs.clean_sinogram(index)
        assert lines is not None
        np.testing.assert_allclose(S[0, 0].numpy(), lines)
        beside = observed.trace[0, 0] == 0
        assert (observed.S - S)[0, 0][beside].abs().max() < 0.1 < (observed.S - S).abs().max()


def test_patches_of_cnnmar_are_parts_of_the_three_images(store: Path) -> None:
    pairs = open_pairs(store, ["train"])
    examples = ThreeImagePatches([pairs], 32, seed=0)
    rows, columns = slice(3, 35), slice(10, 42)
    made = examples.example(0, 1, Window(pairs.read(1, rows, columns), rows, columns))
    case = Case.read(pairs, 1)
    whole = three_images(case.measured, case.pair.li)
    torch.testing.assert_close(made[:3], whole[:, rows, columns], atol=2e-3, rtol=1e-3)
    torch.testing.assert_close(made[3], attenuation(case.pair.clean)[rows, columns])
    np.testing.assert_array_equal(made[4].numpy() > 0, ~case.pair.metal[rows, columns])


@pytest.mark.parametrize("architecture", ["dudonet-s", "dscmar-s", "dudonet++-s"])
def test_the_loss_is_three_mean_absolute_errors_without_metal(architecture: str, store: Path, tmp_path: Path) -> None:
    config = settings(store, tmp_path, architecture)
    trainer = Trainer(config, make_fabric(config))
    observed, X, S = trainer.lesson.examples(trainer.train, config, 0, 0.0)[0]
    network = trainer.raw.eval()
    found = network(observed)
    outside = observed.I > 0
    expected = [
        (found.sinogram - S).abs().mean(),
        *((image - X)[outside].abs().sum() / X.numel() for image in (found.between, found.image)),
    ]
    for truth in (X, torch.where(outside, X, 7.0)):
        terms = trainer.lesson.loss(network, (observed, truth, S), config)
        torch.testing.assert_close(torch.stack(terms.values), torch.stack(expected))


def test_thin_metal_stays_on_a_coarser_grid() -> None:
    metal = np.zeros((416, 416), bool)
    metal[101] = metal[7, 7] = True
    found = on_grid(metal, 208)
    assert found[50].all()
    assert found[3, 3]
    assert found.sum() == 208 + 1


@pytest.mark.parametrize(
    ("architecture", "section", "name", "value"),
    [
        ("dudonet-s", "training", "focus", 0.9),
        ("dudonet-s", "training", "omega", 3.0),
        ("cnnmar", "training", "together", 2),
        ("cnnmar", "training", "relative", True),
        ("cnnmar", "data", "grid", 64),
        ("acdnet-s", "data", "grid", 64),
        ("dscmar-s", "model", "frugal", True),
        ("cnnmar", "model", "bfloat16", True),
    ],
)
def test_settings_that_would_do_nothing_are_refused(architecture: str, section: str, name: str, value: Any) -> None:
    given: dict[str, Any] = {
        "model": {"architecture": architecture},
        "data": {"train": ["a"]},
        "training": {"patches": 1},
        "run": {"folder": "b"},
    }
    from_dict(given).check()
    given[section] |= {name: value}
    with pytest.raises(ConfigError, match=f"{section}.{name} is for"):
        from_dict(given).check()


@pytest.mark.parametrize(("name", "value"), [("grid", -5), ("grid", 7), ("val_pairs", -3)])
def test_impossible_data_settings_are_refused(name: str, value: int) -> None:
    with pytest.raises(ConfigError, match=f"data.{name}"):
        from_dict({"data": {name: value}})


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


def test_errors_are_relative_if_asked_for_and_a_weight_counts_within_a_patch() -> None:
    Y, X_li, I = make_input(2, 16, 18)
    X, network, lesson = 100 * torch.rand_like(Y), make_model(), ACDNetLesson()
    model = {"architecture": "acdnet-s", "T": 2, "N": 2, "d": 3, "p": 3, "N_p": 2, "blocks": 1}
    config = from_dict({"model": model, "training": {"relative": True, "omega": 1.0, "patches": 1}})
    W = torch.where(torch.arange(18) < 9, 40.0, 1.0).expand_as(Y)
    with torch.no_grad():
        plain, all_alike, some = (
            lesson.loss(network, (Y, X_li, X, I, *w), config) for w in ((), (torch.full_like(Y, 7.0),), (W,))
        )
        expected = acdnet_loss(network(Y, X_li, I), Y, X, I, 1.0, relative=True)
    torch.testing.assert_close(torch.stack(plain.values), torch.stack(tuple(expected)))
    torch.testing.assert_close(torch.stack(all_alike.values), torch.stack(plain.values))
    assert not torch.allclose(some.total, plain.total)
    unsaid = from_dict({"model": model, "training": {"relative": True, "patches": 1}})
    with pytest.raises(ConfigError, match="omega"):
        lesson.check(unsaid.shared_by(1), 1)


def test_validation_scores_what_a_model_ends_with(tmp_path: Path) -> None:
    pairs = open_pairs(small_store(tmp_path, 1, recipe=Recipe("clinical", pairs=1, size=64)))
    model = make_model(replace(SMALL, last="beside"))
    save_model(model, tmp_path / "m.safetensors", name="m", summary="for a test")
    expected = contestant(str(tmp_path / "m.safetensors")).run(Case.read(pairs, 0))
    np.testing.assert_allclose(ACDNetLesson().reduced(model, pairs, 0), expected, atol=0.3)  # LI is rounded there
