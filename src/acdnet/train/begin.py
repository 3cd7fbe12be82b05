"""What a run begins with: its lesson, and a network with random weights or those of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from acdnet.config import ACDNetConfig, CNNMARConfig, NetworkConfig
from acdnet.data.pairs import PairSet
from acdnet.errors import ConfigError, InputRefused
from acdnet.model.acdnet import ACDNet
from acdnet.model.stage import Stage
from acdnet.model.start import Start
from acdnet.model.trunk import Trunk
from acdnet.train.config import UNSAID, TrainConfig, from_dict
from acdnet.train.grow import awaken, fits, grown
from acdnet.train.initial import as_solver
from acdnet.train.lessons.acdnet import ACDNetLesson
from acdnet.train.lessons.lesson import Lesson
from acdnet.weights.card import Training
from acdnet.weights.load import read_model
from acdnet.weights.networks import Network, build
from acdnet.weights.shipped import find_model


def make_lesson(config: NetworkConfig) -> Lesson:
    """Return what goes with a kind of network."""
    match config:
        case ACDNetConfig():
            return ACDNetLesson()
        case CNNMARConfig():
            from acdnet.train.lessons.cnnmar import CNNMARLesson

            return CNNMARLesson()
    from acdnet.train.lessons.dual import DualLesson

    return DualLesson()


def make_model(config: TrainConfig) -> tuple[Network, Training | None]:
    """Return the network of a run, in training mode, and what it has seen before."""
    wanted = config.model.network()
    if not config.model.start_from:
        new = build(wanted)
        if isinstance(new, ACDNet) and config.training.initial == "solver":
            as_solver(new)
        return new.train(), None
    model, card = read_model(find_model(config.model.start_from))
    _check_said(config, model.config)
    if model.config == wanted:
        begun = model
    elif isinstance(model, ACDNet) and isinstance(wanted, ACDNetConfig) and fits(model.config, wanted):
        begun = grown(model, wanted)
    else:
        raise ConfigError(f"model.start_from: {config.model.start_from} cannot be grown into this architecture")
    if isinstance(begun, ACDNet):
        _check_statistics(config, model.config)
        if config.model.awaken:
            awaken(begun, config.model.awaken)
    return begun.train(), card.training


def _check_statistics(config: TrainConfig, known: NetworkConfig) -> None:
    """Refuse fixed statistics that are not those of the network that is trained.

    Last stages may be left out. What comes after them keeps its statistics, which suits stages that did nothing.
    """
    wanted = config.model.network()
    if not (config.training.fixed_norms and isinstance(known, ACDNetConfig) and isinstance(wanted, ACDNetConfig)):
        return
    if config.model.awaken or replace(known, last=wanted.last, T=min(known.T, wanted.T)) != wanted:
        raise ConfigError("training.fixed_norms: the statistics of model.start_from are those of another network")


def _check_said(config: TrainConfig, known: NetworkConfig) -> None:
    """Refuse to leave out stages or blocks, to begin with another image or to end otherwise, if nobody said so."""
    wanted, said = config.model.network(), config.model
    if not (isinstance(known, ACDNetConfig) and isinstance(wanted, ACDNetConfig)):
        return
    if known.T > wanted.T and said.T == UNSAID:
        raise ConfigError(f"model.start_from has {known.T} stages; say model.T = {wanted.T} to leave out the last ones")
    if known.coarse > wanted.coarse and said.coarse == UNSAID:
        raise ConfigError(
            f"model.start_from has {known.coarse} coarse blocks; say model.coarse = {wanted.coarse} to leave some out"
        )
    if known.first != wanted.first and not said.first:
        raise ConfigError(f"model.start_from begins with {known.first}; say model.first, that or {wanted.first}")
    if known.last != wanted.last and not said.last:
        raise ConfigError(f"model.start_from ends with {known.last}; say model.last, that or {wanted.last}")


def check_first(config: NetworkConfig, sets: Sequence[PairSet]) -> None:
    """Refuse pairs without the image that the network begins with."""
    if not isinstance(config, ACDNetConfig):
        return
    for pairs in sets:
        try:
            pairs.read(0, slice(0, 1), slice(0, 1)).first(config.first)
        except InputRefused as error:
            raise InputRefused(f"{pairs.folder}: {error}") from error


def set_up(network: Network, config: TrainConfig) -> None:
    """Tell the parts of a network how they are trained."""
    for module in network.modules():
        match module:
            case Trunk():
                module.frugal = config.model.frugal
                module.short = config.model.bfloat16
            case Start() | Stage():
                module.together = config.training.together
            case nn.BatchNorm2d() | nn.SyncBatchNorm():
                module.train(not config.training.fixed_norms)


def begun_with(config: Mapping[str, Any]) -> TrainConfig:
    """Return the settings in a checkpoint; older ones say nothing of patches that share K, since none did."""
    return from_dict({**config, "training": {"together": 1, **config["training"]}})


def load_weights(network: Network, state: Mapping[str, Any], folder: Path) -> None:
    """Put the weights of a checkpoint into the network; refuse those of another one."""
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        raise ConfigError(
            f"{folder}: the run was begun with a network of other sizes; an architecture may have changed since "
            "(say them, such as model.coarse = 0)"
        ) from error
