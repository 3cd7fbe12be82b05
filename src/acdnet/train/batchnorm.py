"""Measure the statistics of batch normalisation anew.

Training moves them along with the weights, always a little late; averaged weights have never been run at all. With a
large learning rate the difference costs many dB. A few dozen batches through the finished weights settle it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar, cast

import torch
from torch import nn

from acdnet.model.ranks import ranks

Model = TypeVar("Model", bound=nn.Module)


def synchronised(model: Model, device: torch.device) -> Model:
    """Let batch normalisation see the batches of all GPUs. On CPUs `acdnet.model.trunk_cpu` does so by itself.

    Networks that normalise each slice by itself, also at inference, keep no statistics and are left as they are.
    """
    kept = any(module.track_running_stats for module in model.modules() if isinstance(module, nn.BatchNorm2d))
    if kept and ranks() > 1 and device.type != "cpu":
        model = cast(Model, nn.SyncBatchNorm.convert_sync_batchnorm(model))
    return model


@torch.no_grad()
def recalibrate(model: nn.Module, batches: Iterable[tuple[Any, ...]]) -> None:
    """Set the running statistics to their plain mean over the batches (each the arguments of the model)."""
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d | nn.SyncBatchNorm)]
    momenta, was_training = [norm.momentum for norm in norms], model.training
    for norm in norms:
        norm.reset_running_stats()
    model.train()
    try:
        for seen, batch in enumerate(batches):
            for norm in norms:
                norm.momentum = 1 / (seen + 1)
            model(*batch)
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        model.train(was_training)
