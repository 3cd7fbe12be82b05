"""What a run begins with: its lesson, and a network with random weights or those of a model."""

from __future__ import annotations

from acdnet.config import ACDNetConfig, CNNMARConfig, NetworkConfig
from acdnet.errors import ConfigError
from acdnet.model.acdnet import ACDNet
from acdnet.model.stage import Stage
from acdnet.model.start import Start
from acdnet.model.trunk import Trunk
from acdnet.train.config import TrainConfig
from acdnet.train.grow import fits, grown
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
    if model.config == wanted:
        return model.train(), card.training
    if isinstance(model, ACDNet) and isinstance(wanted, ACDNetConfig) and fits(model.config, wanted):
        return grown(model, wanted).train(), card.training
    raise ConfigError(f"model.start_from: {config.model.start_from} cannot be grown into this architecture")


def set_up(network: Network, config: TrainConfig) -> None:
    """Tell the parts of a network how they are trained."""
    for module in network.modules():
        match module:
            case Trunk():
                module.frugal = config.model.frugal
            case Start() | Stage():
                module.together = config.training.together
