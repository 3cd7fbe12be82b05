"""Build the task and the network of a run, with random weights or those of an existing model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from acdnet.config import ACDNetConfig, CNNMARConfig, LocaliserConfig, NetworkConfig
from acdnet.data.pairs import PairSet
from acdnet.errors import ConfigError, InputRefused
from acdnet.fast.training import fold_for_training
from acdnet.model.acdnet import ACDNet
from acdnet.model.stage import Stage
from acdnet.model.start import Start
from acdnet.train.config import UNSET, TrainConfig
from acdnet.train.expand import can_expand, expand
from acdnet.train.init import initialise_as_solver
from acdnet.train.tasks.acdnet import ACDNetTask
from acdnet.train.tasks.task import Task
from acdnet.weights.card import Training
from acdnet.weights.load import read_model
from acdnet.weights.networks import Network, build
from acdnet.weights.shipped import find_model


def make_task(config: NetworkConfig) -> Task:
    """Return the task for a kind of network."""
    match config:
        case ACDNetConfig():
            return ACDNetTask()
        case CNNMARConfig():
            from acdnet.train.tasks.cnnmar import CNNMARTask

            return CNNMARTask()
        case LocaliserConfig():
            from acdnet.train.tasks.localiser import LocaliserTask

            return LocaliserTask()
    from acdnet.train.tasks.dual import DualTask

    return DualTask()


def make_model(config: TrainConfig) -> tuple[Network, Training | None]:
    """Return the network of a run in training mode, and how it was trained before."""
    wanted = config.model.network()
    if not config.model.start_from:
        new = build(wanted)
        if isinstance(new, ACDNet) and config.training.initial == "solver":
            initialise_as_solver(new)
        return new.train(), None
    model, card = read_model(find_model(config.model.start_from))
    _check_explicit(config, model.config)
    if model.config == wanted:
        started = model
    elif isinstance(model, ACDNet) and isinstance(wanted, ACDNetConfig) and can_expand(model.config, wanted):
        started = expand(model, wanted)
    else:
        raise ConfigError(f"model.start_from: {config.model.start_from} cannot be expanded to this architecture")
    if isinstance(started, ACDNet):
        _check_statistics(config, model.config)
    return started.train(), card.training


def _check_statistics(config: TrainConfig, known: NetworkConfig) -> None:
    """Refuse fixed statistics if the network differs from the one in which they were measured.

    The last stages may be dropped: the layers after them keep their statistics.
    """
    wanted = config.model.network()
    if not (config.training.fixed_norms and isinstance(known, ACDNetConfig) and isinstance(wanted, ACDNetConfig)):
        return
    if replace(known, last=wanted.last, T=min(known.T, wanted.T)) != wanted:
        raise ConfigError(
            "training.fixed_norms: the network differs from model.start_from, so its statistics do not apply"
        )


def _check_explicit(config: TrainConfig, known: NetworkConfig) -> None:
    """Require explicit settings to drop stages or blocks of a model, or to change its first image or last step."""
    wanted, given = config.model.network(), config.model
    if not (isinstance(known, ACDNetConfig) and isinstance(wanted, ACDNetConfig)):
        return
    for name, parts in (("T", "stages"), ("coarse", "coarse blocks")):
        if getattr(known, name) > (fewer := getattr(wanted, name)) and getattr(given, name) == UNSET:
            raise ConfigError(
                f"model.start_from has {getattr(known, name)} {parts}; set model.{name} = {fewer} to drop the last ones"
            )
    for name in ("first", "last"):
        if (had := getattr(known, name)) != (now := getattr(wanted, name)) and not getattr(given, name):
            raise ConfigError(f"model.start_from has {name} = {had!r}; set model.{name} to {had!r} or {now!r}")


def check_first(config: NetworkConfig, sets: Sequence[PairSet]) -> None:
    """Refuse pairs that lack the image from which the network starts."""
    if not isinstance(config, ACDNetConfig):
        return
    for pairs in sets:
        try:
            pairs.read(0, slice(0, 1), slice(0, 1)).first(config.first)
        except InputRefused as error:
            raise InputRefused(f"{pairs.folder}: {error}") from error


def set_up(network: Network, config: TrainConfig) -> None:
    """Apply the training settings to the parts of a network."""
    if isinstance(network, ACDNet):
        fold_for_training(network, config.training.bfloat16)
    for module in network.modules():
        match module:
            case Start() | Stage():
                module.patches_per_pair = config.training.patches_per_pair
            case nn.BatchNorm2d():
                module.train(not config.training.fixed_norms)


def load_weights(network: Network, state: Mapping[str, Any], folder: Path) -> None:
    """Load the weights of a checkpoint; refuse those of another network."""
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        raise ConfigError(
            f"{folder}: the checkpoint has a network of other sizes; if the architecture has changed since, set its "
            "former sizes (for example model.coarse = 0)"
        ) from error
