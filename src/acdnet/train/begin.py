"""The network a run begins with: random weights, those of a model, or those of a model with fewer stages."""

from __future__ import annotations

from dataclasses import replace

from acdnet.errors import ConfigError
from acdnet.model.acdnet import ACDNet
from acdnet.train.config import TrainConfig
from acdnet.weights.load import read_model
from acdnet.weights.shipped import find_model


def make_model(config: TrainConfig) -> ACDNet:
    """Return the network of a run, in training mode."""
    network = config.model.network()
    if not config.model.start_from:
        return ACDNet(network).train()
    model, _ = read_model(find_model(config.model.start_from))
    if replace(model.config, T=network.T) != network or model.config.T > network.T:
        raise ConfigError(f"model.start_from: {config.model.start_from} has another architecture, or more stages")
    return (model if model.config == network else grown(model, network.T)).train()


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
