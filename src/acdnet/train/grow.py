"""Begin a larger network with what a smaller one knows, so that it computes the same to the last digits.

The other way round only stages and blocks on coarser grids can be fewer: the last ones are left out, and what comes
after them has to learn its new place.

Small networks learn faster in the same time. More channels: the old ones do not listen to the new ones yet. Blocks on
coarser grids: they add nothing yet. More stages: those added at the end leave the image as it is (their residual blocks
add nothing, their step is zero) and go on refining K and M as the last stage does. All of it is free to learn from
there, but in a few hundred steps added stages hardly do: `awaken` makes them active at the price of a worse start.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from acdnet.config import ACDNetConfig
from acdnet.model.acdnet import ACDNet
from acdnet.model.prox import ProxX
from acdnet.model.stage import Stage
from acdnet.model.trunk import ResidualBlock

AWAKE = 0.3
"""Share of what the last clean-up adds that awakened stages begin with. All of it, seven times, ruins the image."""


def fits(known: ACDNetConfig, wanted: ACDNetConfig) -> bool:
    """Tell whether a network can become another: with other stages, other coarse blocks, more image channels.

    It may begin with another image, and have another end.
    """
    free = {name: getattr(wanted, name) for name in ("T", "N_p", "coarse", "first", "last")}
    same = replace(known, **free) == wanted
    return same and known.N_p <= wanted.N_p


@torch.no_grad()
def grown(model: ACDNet, wanted: ACDNetConfig) -> ACDNet:
    """Return a network of the wanted sizes that does what the model does, but for what is left out."""
    larger, T = ACDNet(wanted), model.config.T
    known, state = model.state_dict(), larger.state_dict()
    for name, value in state.items():
        source = name
        if name.startswith("stages."):
            _, number, rest = name.split(".", 2)
            source = f"stages.{min(int(number), T - 1)}.{rest}"
        if source in known:
            _put(value, known[source])
    larger.load_state_dict(state)
    for stage in larger.stages[T:]:
        stage.eta_X.zero_()  # type: ignore[operator]
        for block in stage.prox_X.modules():  # type: ignore[union-attr]
            if isinstance(block, ResidualBlock):
                _silence(block)
    for prox in larger.modules():
        if isinstance(prox, ProxX):
            for block in list(prox.trunk.blocks())[model.config.blocks + model.config.coarse :]:
                _silence(block)
    return larger


@torch.no_grad()
def awaken(model: ACDNet, stages: int) -> None:
    """Let the stages after the first `stages` clean the image as the end of the network does, but weakly."""
    for stage in model.stages[stages:]:
        assert isinstance(stage, Stage)
        stage.prox_X.load_state_dict(model.prox_last.state_dict())
        stage.eta_X.zero_()
        for block in stage.prox_X.trunk.blocks():
            block.norm2.weight.mul_(AWAKE)
            block.norm2.bias.mul_(AWAKE)


def _silence(block: ResidualBlock) -> None:
    """Let a block add nothing, for now."""
    nn.init.zeros_(block.norm2.weight)
    nn.init.zeros_(block.norm2.bias)


def _put(value: Tensor, known: Tensor) -> None:
    """Put what is known into the first entries of every axis; what is new stays, but speaks to nothing old."""
    if value.shape == known.shape:
        value.copy_(known)
        return
    corner = tuple(slice(0, size) for size in known.shape)
    if value.dim() == 4 and value.shape[1] > known.shape[1]:
        value[: known.shape[0], known.shape[1] :] = 0.0
    value[corner] = known
