from pathlib import Path

import numpy as np
import pytest

from acdnet.data.build import build
from acdnet.data.pairs import open_pairs
from acdnet.data.recipe import Recipe
from acdnet.data.sources import open_source
from acdnet.errors import ConfigError
from acdnet.methods.learned.localiser import CHANNELS, Localiser
from acdnet.methods.localise import find_objects
from acdnet.methods.registry import get_method
from acdnet.train.config import from_dict
from acdnet.train.loop import train
from acdnet.train.tasks.localiser import LocaliserPatches
from acdnet.weights.load import read_model
from tests.data.make import one_process
from tests.train.make import small_config

SIZE = 96


@pytest.fixture(scope="module")
def slabs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two slabs of neighbouring phantoms with metal, as training and validation data."""
    folder = tmp_path_factory.mktemp("slabs") / "store"
    recipe = Recipe("clinical", pairs=1, size=SIZE, slab=3)
    with one_process():
        list(build(open_source("phantom", 4, seed=1, slab=3), recipe, folder))
    return folder


def test_examples_show_metal_and_what_looks_like_it(slabs: Path) -> None:
    pairs = open_pairs(slabs)
    examples = LocaliserPatches([pairs], 64, seed=0)
    made = [examples[n] for n in range(12)]
    assert all(one.shape == (CHANNELS + 2, 64, 64) for one in made)
    metal = [bool(one[CHANNELS].any()) for one in made]
    assert any(metal)
    assert not all(metal)
    assert np.array_equal(examples[5], made[5])
    assert all(0 < float(one[CHANNELS + 1].min()) < float(one[CHANNELS + 1].max()) == 1.0 for one in made)


def test_neighbours_are_those_of_the_slab(slabs: Path) -> None:
    pairs = open_pairs(slabs)
    below, above = zip(*(pairs.neighbours(n) for n in range(len(pairs.infos()))), strict=True)
    assert below.count(None) == above.count(None) == len(pairs.infos()) // 3
    for n, other in enumerate(above):
        assert other is None or pairs.neighbours(other)[0] == n


@pytest.mark.filterwarnings("ignore:Average of")
def test_a_run_leaves_a_localiser(slabs: Path, tmp_path: Path) -> None:
    splits = sorted({info.split for info in open_pairs(slabs).infos()})
    given = small_config(slabs, tmp_path / "run").to_dict() | {
        "model": {"architecture": "localiser", "width": 2},
        "data": {"train": [str(slabs)], "train_splits": splits},
        "training": {"patches": 6, "batch": 2, "patch": 64},
    }
    card = train(from_dict(given), resume=False)
    assert card is not None
    assert card.config.network == "localiser"
    network, _ = read_model(tmp_path / "run/model.safetensors")
    assert isinstance(network, Localiser)
    pair = open_pairs(slabs).read(0)
    assert isinstance(find_objects([pair.corrupted], (2.0, 2.0), network), list)
    with pytest.raises(ConfigError, match="finds metal"):
        get_method(str(tmp_path / "run/model.safetensors"), "cpu")
