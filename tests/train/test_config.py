from pathlib import Path

import pytest

from acdnet.errors import ConfigError, InputRefused
from acdnet.train.config import from_dict, read_config
from acdnet.weights.card import read_card
from acdnet.weights.shipped import shipped_models

EXAMPLES = Path(__file__).parents[2] / "examples" / "train"
GOOD = '[data]\ntrain = ["a"]\n[training]\nminutes = 5\n[run]\nfolder = "r"\n'


def write(folder: Path, text: str) -> Path:
    (folder / "c.toml").write_text(text)
    return folder / "c.toml"


def test_recipes_supply_missing_settings(tmp_path: Path) -> None:
    short = read_config(write(tmp_path, GOOD))
    short.check()
    assert (short.training.schedule, short.training.batch) == ("cosine", 8)
    paper = read_config(write(tmp_path, '[data]\ntrain = ["a"]\n[training]\nrecipe = "paper"\n[run]\nfolder = "r"\n'))
    paper.check()
    assert paper.training.patches == 300 * 800 * 32
    assert paper.training.average == 0
    assert paper.model.network().to_dict()["T"] == 10


def test_the_command_line_wins(tmp_path: Path) -> None:
    changes = ("training.batch=4", "name=other", "model.T=3", "data.val=b", "training.rate=1e-4")
    config = read_config(write(tmp_path, GOOD), changes)
    assert config.training.batch == 4
    assert config.name == "other"
    assert config.model.network().to_dict()["T"] == 3
    assert config.data.val == ("b",)
    assert config.training.rate == 1e-4
    assert from_dict(config.to_dict()) == config


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ("data.val_pairs=-3", "data.val_pairs"),
        ("training.bach=4", "training.bach"),
        ("training.batch=four", "training.batch"),
        ("training.batch=0", "training.batch"),
        ("training.batch=true", "training.batch"),
        ("training.rate=nan", "training.rate"),
        ("training.schedule=linear", "schedule"),
        ("training.optimiser=sgd", "adam or muon"),
        ("training.recipe=fast", "fast"),
        ("model.architecture=unet", "unet"),
        ("model.T=-1", "T"),
        ("model.T=0", "T"),
        ("training=5", "training"),
        ("training.recipe=[1]", "recipe"),
        ("run.log_steps=0", "run.log_steps"),
        ("run.checkpoint_minutes=nan", "run.checkpoint_minutes"),
        ("nonsense=1", "nonsense"),
        ("nonsense", "section.key=value"),
        ("name.x=1", "name"),
    ],
)
def test_f51_bad_settings_are_named(tmp_path: Path, change: str, word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        read_config(write(tmp_path, 'name = "n"\n' + GOOD), (change,)).check()


def test_missing_settings_are_named(tmp_path: Path) -> None:
    for text, word in (
        ("", "data.train"),
        (GOOD.replace("minutes = 5", ""), "minutes"),
        (GOOD.replace("folder", "#"), "folder"),
    ):
        with pytest.raises(ConfigError, match=word):
            read_config(write(tmp_path, text)).check()
    with pytest.raises(ConfigError, match="TOML"):
        read_config(write(tmp_path, "[["))
    with pytest.raises(InputRefused, match="no such file"):
        read_config(tmp_path / "none.toml")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_example_settings_are_those_of_shipped_models(path: Path) -> None:
    config = read_config(path)
    assert config.name == path.stem
    shipped = read_card(shipped_models()[path.stem]).config
    assert config.model.network() == shipped


@pytest.mark.parametrize(
    ("batch", "processes", "patches_per_pair"), [(8, 1, 4), (8, 4, 2), (6, 1, 2), (3, 1, 1), (1, 2, 1)]
)
def test_patches_per_pair_fit_the_batch_unless_set(batch: int, processes: int, patches_per_pair: int) -> None:
    assert from_dict({"training": {"batch": batch}}).shared_by(processes).training.patches_per_pair == patches_per_pair
    given = from_dict({"training": {"batch": batch, "patches_per_pair": 7}}).shared_by(processes)
    assert given.training.patches_per_pair == 7


def test_sizes_of_another_network_are_refused() -> None:
    with pytest.raises(ConfigError, match="dudonet has no such size"):
        from_dict({"model": {"architecture": "dudonet", "T": 3}}).model.network()
