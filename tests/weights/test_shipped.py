"""The models that come with the package."""

import pytest

from acdnet.errors import ModelFileError
from acdnet.weights.load import load_model, read_model
from acdnet.weights.shipped import ALIASES, find_model, find_rival, shipped_cards, shipped_models

MOST_BYTES = 8_000_000


@pytest.mark.parametrize("name", shipped_models())
def test_every_shipped_model_is_whole_and_small(name: str) -> None:
    path = shipped_models()[name]
    _, card = read_model(path)
    assert card.name == name
    assert card.training is not None
    assert card.scores
    assert path.stat().st_size < MOST_BYTES


def test_every_alias_means_a_shipped_model() -> None:
    assert "default" in ALIASES
    for alias, meant in ALIASES.items():
        assert find_model(alias).stem == meant


def test_the_default_model_loads() -> None:
    assert load_model().config == load_model("default").config


def test_cards_name_their_aliases() -> None:
    assert any("default" in aliases for _, _, aliases in shipped_cards())


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ModelFileError, match="default"):
        find_model("nonsense")


def test_a_rival_is_found_by_its_kind_or_said_to_be_missing() -> None:
    assert read_model(find_rival("cnnmar"))[0].config.network == "cnnmar"
    with pytest.raises(ModelFileError, match="no model of dudonet is shipped"):
        find_rival("dudonet")
