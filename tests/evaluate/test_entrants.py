from pathlib import Path

import pytest

from acdnet.data.pairs import marks, open_pairs
from acdnet.errors import ConfigError, InputRefused
from acdnet.evaluate.entrants import check_unseen, get_entrants
from acdnet.weights.card import Training
from tests.evaluate.make import Stub


def test_unknown_and_doubled_methods_are_refused() -> None:
    with pytest.raises(ConfigError, match="no method 'magic'"):
        get_entrants(["magic"])
    with pytest.raises(ConfigError, match="two methods"):
        get_entrants(["clinical-s", "default"])
    with pytest.raises(ConfigError, match="no methods are given"):
        get_entrants([])


def test_methods_are_taken_once_and_named_as_in_tables() -> None:
    labels = [one.label for one in get_entrants(["li", "input", "li", "acdnet", "clinical-s"])]
    assert labels == ["LI", "Input", "ACDNet", "clinical-s"]


def test_f52_a_model_is_not_scored_on_patients_it_learnt_from(clinical_store: Path) -> None:
    pairs = open_pairs(clinical_store)
    training = Training("some", "clinical", 1, 1.0, patients=marks([pairs])[:2])
    seen = Stub("seen", training=training)
    with pytest.raises(InputRefused, match="seen was trained on 2 of its"):
        check_unseen([*get_entrants(["li", "acdnet"]), seen], pairs)
    check_unseen(get_entrants(["li", "acdnet"]), pairs)
