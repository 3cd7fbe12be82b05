"""Expand a trained network to a larger one that computes the same up to rounding errors.

New image channels have no influence on the old ones at first. New blocks on coarser grids add zero. New stages at the
end leave the image unchanged (their residual blocks add zero, their step is zero) and refine K and M as the last stage
does. All new weights can be trained from there, which takes less time than training the large network from scratch.

Only stages and blocks on coarser grids can be removed: the last ones are dropped, and the layers after them have to
adapt in training.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from acdnet.config import ACDNetConfig
from acdnet.model.acdnet import ACDNet
from acdnet.model.prox import ProxX
from acdnet.model.residual import ResidualBlock


def can_expand(known: ACDNetConfig, wanted: ACDNetConfig) -> bool:
    """Tell whether a network can be converted: stages, coarse blocks, `first` and `last` may differ, N_p may grow."""
    free = {name: getattr(wanted, name) for name in ("T", "N_p", "coarse", "first", "last")}
    same = replace(known, **free) == wanted
    return same and known.N_p <= wanted.N_p


@torch.no_grad()
def expand(model: ACDNet, wanted: ACDNetConfig) -> ACDNet:
    """Return a network of the wanted sizes that computes what the model does, except for dropped parts."""
    larger, T = ACDNet(wanted), model.config.T
    known, state = model.state_dict(), larger.state_dict()
    for name, value in state.items():
        source = name
        if name.startswith("stages."):
            _, number, rest = name.split(".", 2)
            source = f"stages.{min(int(number), T - 1)}.{rest}"
        if source in known:
            _copy_into(value, known[source])
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


def _silence(block: ResidualBlock) -> None:
    """Make a block add zero."""
    nn.init.zeros_(block.norm2.weight)
    nn.init.zeros_(block.norm2.bias)


def _copy_into(value: Tensor, known: Tensor) -> None:
    """Copy known weights to the first entries of every axis; weights from new to old channels become zero."""
    if value.shape == known.shape:
        value.copy_(known)
        return
    corner = tuple(slice(0, size) for size in known.shape)
    if value.dim() == 4 and value.shape[1] > known.shape[1]:
        value[: known.shape[0], known.shape[1] :] = 0.0
    value[corner] = known
