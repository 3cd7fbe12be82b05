"""The methods that are compared, and whether they may be scored on a data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from acdnet.data.pairs import PairSet, marks
from acdnet.errors import ConfigError, InputRefused
from acdnet.methods.method import Method
from acdnet.methods.registry import DEFAULT, get_method, method_help
from acdnet.weights.card import read_card
from acdnet.weights.shipped import find_model


def get_entrants(names: Iterable[str], device: str = "cpu") -> list[Method]:
    """Return methods by name or file without duplicates, with the names of models as labels."""
    methods = [_named(get_method(name, device), name) for name in dict.fromkeys(names)]
    if not methods:
        raise ConfigError(f"no methods are given; choose from {method_help(with_input=True)}")
    twice = [label for label, count in Counter(one.label for one in methods).items() if count > 1]
    if twice:
        raise ConfigError(f"two methods are called {twice[0]!r}; give each training run its own `name`")
    return methods


def _named(method: Method, name: str) -> Method:
    if method.weights:
        method.label = "ACDNet" if name == DEFAULT else read_card(find_model(name)).name
    return method


def check_unseen(methods: Sequence[Method], pairs: PairSet) -> None:
    """Refuse to score a model on patients of its training."""
    there = set(marks([pairs]))
    for one in methods:
        patients = set(one.training.patients) if one.training else set()
        if seen := len(patients & there):
            raise InputRefused(
                f"{pairs.folder}: {one.label} was trained on {seen} of its {len(there)} patients; "
                "allow this with --seen-patients"
            )
