"""The models that come with the package."""

import re

import pytest

import acdnet
from acdnet.errors import ModelFileError
from acdnet.weights.card import LICENCE, read_card
from acdnet.weights.load import load_model, read_model
from acdnet.weights.shipped import ALIASES, find_model, list_models, model_of_kind, shipped_cards, shipped_models
from tests.conftest import REPOSITORY

MOST_BYTES = 8_000_000
LOCALISER = "localiser"


@pytest.mark.parametrize("name", shipped_models())
def test_every_shipped_model_is_whole_and_small(name: str) -> None:
    path = shipped_models()[name]
    _, card = read_model(path)
    assert card.name == name
    assert card.training is not None
    assert card.notice.endswith(LICENCE)
    scored = ("test, syndeeplesion", "test, clinical", "site_head, clinical")
    for where in ("validation", *(scored if card.config.network != LOCALISER else ())):
        assert any(key.startswith(where) for key in card.scores), f"{where}: run python -m benchmarks.results"
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


def test_a_model_is_found_by_the_kind_of_its_network() -> None:
    assert read_card(model_of_kind("acdnet")).config.network == "acdnet"


@pytest.mark.parametrize("kind", ["cnnmar", "dudonet", "dscmar", "dudonet++"])
def test_kinds_that_are_not_shipped_are_refused(kind: str) -> None:
    with pytest.raises(ModelFileError, match=re.escape(kind)):
        model_of_kind(kind)


def test_the_list_has_every_card() -> None:
    assert [card.name for card in list_models()] == list(shipped_models())
    assert list_models() == acdnet.list_models()


def test_the_results_are_those_of_these_weights() -> None:
    page = (REPOSITORY / "docs/results.md").read_text()
    for card, path, _ in shipped_cards():
        if card.config.network == LOCALISER:
            continue  # it is no method
        assert card.sha256[:16] in page, f"{path.name}: run python -m benchmarks.results"
