"""What a run begins with: its lesson, and a network with random weights or those of a model."""

from __future__ import annotations

from dataclasses import replace

from acdnet.config import ACDNetConfig, CNNMARConfig, NetworkConfig
from acdnet.errors import ConfigError
from acdnet.model.acdnet import ACDNet
from acdnet.train.config import TrainConfig
from acdnet.train.lessons.acdnet import ACDNetLesson
from acdnet.train.lessons.lesson import Lesson
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


def make_model(config: TrainConfig) -> Network:
    """Return the network of a run, in training mode."""
    wanted = config.model.network()
    if not config.model.start_from:
        return build(wanted).train()
    model, _ = read_model(find_model(config.model.start_from))
    if model.config == wanted:
        return model.train()
    if isinstance(model, ACDNet) and isinstance(wanted, ACDNetConfig) and _fits(model.config, wanted):
        return grown(model, wanted.T).train()
    raise ConfigError(f"model.start_from: {config.model.start_from} has another architecture, or more stages")


def _fits(known: ACDNetConfig, wanted: ACDNetConfig) -> bool:
    return replace(known, T=wanted.T) == wanted and known.T < wanted.T


def grown(model: ACDNet, T: int) -> ACDNet:
    """Return a network of T stages, each begun with the weights of the stage at its place in a shorter one.

    Fewer stages learn faster in the same time; copied ones go on from what those know.
    """
    longer, states = ACDNet(replace(model.config, T=T)), model.state_dict()
    rest = {key: value for key, value in states.items() if not key.startswith("stages.")}
    longer.load_state_dict(rest, strict=False)
    for t, stage in enumerate(longer.stages):
        before = t * model.config.T // T
        source = max(before, min(1, t, model.config.T - 1))  # the first stage may find K, which the others update
        known = stage.state_dict()
        copied = model.stages[source].state_dict()
        stage.load_state_dict({key: copied[key] for key in known if key in copied}, strict=False)
    return longer
