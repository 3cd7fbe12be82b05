"""What is compared: classical methods by name, and models by name or file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acdnet.baselines.method import METHODS, method
from acdnet.data.pairs import PairSet, marks
from acdnet.errors import ConfigError, InputRefused
from acdnet.evaluate.cases import Case
from acdnet.model.acdnet import ACDNet
from acdnet.model.border import decompose_hu, in_range, to_hu
from acdnet.model.inference import InferenceACDNet
from acdnet.physics.beside import ended
from acdnet.weights.card import Training
from acdnet.weights.load import read_model
from acdnet.weights.shipped import find_model

Image = NDArray[np.float32]
FIRST_NAMES = {"li": "LI", "tracefit": "trace fit"}
"""First images of ACDNet, for people."""


@dataclass(frozen=True)
class Contestant:
    """A method: its name in tables, how many numbers it learnt, and what it makes of a case."""

    name: str
    parameters: int
    run: Callable[[Case], Image]
    starts_from_li: bool = False
    """Whether the time that LI takes is part of what it costs."""
    training: Training | None = None
    """What it has seen, as far as its card says."""
    begins_with: str = ""
    """The corrected image that a network is given."""
    weights: str = ""
    """SHA-256 of the file of a network."""

    @property
    def patients(self) -> frozenset[str]:
        """Marks of the patients that it learnt from."""
        return frozenset(self.training.patients if self.training else ())


def contestant(name: str) -> Contestant:
    """Find a method or a model: input, li, nmar, ..., acdnet (the default model), a shipped name or a file.

    Models of other networks than ACDNet run as methods do, from the measured slice on.
    """
    if name == "li":
        return Contestant("LI", 0, _li, starts_from_li=True)
    if name == "input":
        return Contestant("Input", 0, lambda case: case.pair.corrupted)
    if name in METHODS:
        run = method(name)
        return Contestant(name.upper(), 0, lambda case: run(case.measured))
    model, card = read_model(find_model("default" if name == "acdnet" else name))
    label = "ACDNet" if name == "acdnet" else card.name
    if isinstance(model, ACDNet):
        fast = InferenceACDNet(model)
        return Contestant(
            label,
            card.parameters,
            lambda case: reduce(fast, case),
            starts_from_li=fast.config.first == "li",
            training=card.training,
            begins_with=FIRST_NAMES[fast.config.first],
            weights=card.sha256,
        )
    from acdnet.rivals.run import BEGIN_WITH, run_rival

    return Contestant(
        label,
        card.parameters,
        lambda case: run_rival(model, case.measured),
        training=card.training,
        begins_with=BEGIN_WITH[card.config.network],
        weights=card.sha256,
    )


def contestants(names: list[str]) -> list[Contestant]:
    """Find all, each once."""
    found = [contestant(name) for name in dict.fromkeys(names)]
    if not found:
        raise ConfigError(f"no method is named; there are {', '.join((*METHODS, 'acdnet'))}, and models by file")
    labels = [one.name for one in found]
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise ConfigError(f"two methods are called {twice[0]!r}; give runs names of their own (`name`)")
    return found


def check_unseen(methods: list[Contestant], pairs: PairSet) -> None:
    """Refuse to score a model on patients that it learnt from."""
    there = set(marks([pairs]))
    for one in methods:
        if seen := len(one.patients & there):
            raise InputRefused(f"{pairs.folder}: {one.name} was trained on {seen} of its {len(there)} patients")


def reduce(model: InferenceACDNet, case: Case) -> Image:
    """Run a network on a case. The metal is not put back: that would change the range of `paper`."""
    pair = case.pair
    found = decompose_hu(model, pair.corrupted, first_image(model, case), pair.metal)
    X, Y = to_hu(found.image), in_range(pair.corrupted)
    return ended(model.config.last, X, Y, pair.metal, case.image_geometry)


def first_image(model: InferenceACDNet, case: Case) -> Image:
    """Return what a network begins with: the LI of the pair, where it is given, or what is made of the measured slice.

    Where raw data are missing, so that it cannot be made, what came with the pair is taken.
    """
    name, pair = model.config.first, case.pair
    if name == "li":
        return _li(case)
    lost = case.protocol == "syndeeplesion" and case.sinogram is None
    return pair.first(name) if lost and pair.tracefit is not None else method(name)(case.measured)


def _li(case: Case) -> Image:
    """Return the LI image: that of the pair, where raw data made it; else that of the slice."""
    return case.pair.li if case.li_is_given else method("li")(case.measured)
