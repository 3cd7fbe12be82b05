"""All kinds of networks are trained by the same loop, leave a model, and the model reduces artifacts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acdnet.data.pairs import open_pairs
from acdnet.errors import ConfigError, InputRefused
from acdnet.evaluate.case import Case
from acdnet.methods.registry import get_method
from acdnet.physics.measurement import Measurement
from acdnet.train.config import from_dict
from acdnet.train.launch import make_fabric
from acdnet.train.loop import Trainer, train
from tests.data.make import small_store
from tests.train.make import rival_config

KINDS = ("cnnmar", "dudonet-s", "dscmar-s", "dudonet++-s")


@pytest.mark.parametrize("architecture", KINDS)
def test_trains_scores_and_reduces(architecture: str, sinogram_store: Path, tmp_path: Path) -> None:
    card = train(rival_config(sinogram_store, tmp_path / "run", architecture), resume=False)
    assert card is not None
    assert card.training is not None
    assert card.training.patches_seen == 6
    assert ("6 patches of 32" if architecture == "cnnmar" else "6 whole slices") in card.training.data
    assert np.isfinite(list(card.scores.values())).all()

    method = get_method(str(tmp_path / "run/model.safetensors"), "cpu")
    case = Case.read(open_pairs(sinogram_store, ["val"]), 0)
    pair = case.pair
    for measurement in (case.measurement(), Measurement(pair.corrupted, pair.metal, (1.0, 1.0))):
        image = method(measurement).image_hu
        assert image.shape == pair.clean.shape
        assert np.isfinite(image[~pair.metal]).all()
        assert not np.array_equal(image, pair.corrupted)


@pytest.mark.parametrize(
    ("architecture", "optimiser"), [("cnnmar", "adam"), ("dudonet-s", "adam"), ("dudonet-s", "muon")]
)
def test_training_lowers_the_loss(architecture: str, optimiser: str, sinogram_store: Path, tmp_path: Path) -> None:
    config = rival_config(
        sinogram_store, tmp_path, architecture, patches=400, rate=1e-2, warm_up=0.0, optimiser=optimiser
    )
    trainer = Trainer(config, make_fabric(config))
    batch = next(trainer.batches(trainer.task.examples(trainer.train, config, 0, 0.0)))
    first = trainer.learn(batch).items()
    for _ in range(40):
        trainer.step += 1
        last = trainer.learn(batch).items()
    for term in first:
        assert last[term] < 0.9 * first[term], term


@pytest.mark.parametrize(
    ("architecture", "section", "name", "value"),
    [
        ("dudonet-s", "training", "hard_patch_share", 0.9),
        ("dudonet-s", "training", "omega", 3.0),
        ("dscmar-s", "training", "lesions", 0.5),
        ("cnnmar", "training", "patches_per_pair", 2),
        ("cnnmar", "training", "relative", True),
        ("cnnmar", "training", "bfloat16", True),
    ],
)
def test_settings_without_effect_are_refused(architecture: str, section: str, name: str, value: Any) -> None:
    given: dict[str, Any] = {
        "model": {"architecture": architecture},
        "data": {"train": ["a"]},
        "training": {"patches": 1},
        "run": {"folder": "b"},
    }
    from_dict(given).check()
    given[section] |= {name: value}
    with pytest.raises(ConfigError, match=f"{section}.{name} applies to acdnet"):
        from_dict(given).check()


def test_a_store_without_sinograms_is_refused_where_they_are_needed(tmp_path: Path) -> None:
    plain = small_store(tmp_path, 3)
    config = rival_config(plain, tmp_path / "run", "cnnmar")
    with pytest.raises(InputRefused, match="--sinograms"):
        train(config, resume=False)
