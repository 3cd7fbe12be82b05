"""Batch normalisation over several processes, and recalibration of its statistics after training.

During training the running statistics lag behind the weights, and the averaged weights have no statistics of their own.
With a large learning rate this costs many dB; a few dozen batches through the final weights are enough to correct it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import torch
from torch import nn

from acdnet.fast.replace import replace_modules
from acdnet.train.distributed import SyncedBatchNorm2d, ranks

Model = TypeVar("Model", bound=nn.Module)


def synchronised(model: Model) -> Model:
    """Normalise over the batches of all processes.

    Layers without running statistics normalise each slice separately and are not changed.
    """
    if ranks() > 1:
        replace_modules(
            model, nn.BatchNorm2d, lambda norm: SyncedBatchNorm2d(norm) if norm.track_running_stats else norm
        )
    return model


@torch.no_grad()
def recalibrate(model: nn.Module, batches: Iterable[tuple[Any, ...]]) -> None:
    """Set the running statistics to their mean over the batches; each batch holds the arguments of the model."""
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
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
