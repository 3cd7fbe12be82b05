"""Exponential moving average (EMA) of the weights. It scores better than the last weights after recalibration."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from acdnet.train.batchnorm import recalibrate


class Average:
    """The moving average of a model's weights; with decay 0 it equals the current weights."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model, self.decay = copy.deepcopy(model), decay

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        """Update the average after a step. The decay is smaller at first, so that initial weights are forgotten."""
        decay = min(self.decay, (1 + step) / (10 + step))
        for kept, new in zip(self.model.state_dict().values(), model.state_dict().values(), strict=True):
            if kept.is_floating_point():
                kept.lerp_(new, 1 - decay)
            else:
                kept.copy_(new)

    def calibrated(self, batches: Iterable[tuple[Any, ...]]) -> nn.Module:
        """Return a copy in evaluation mode with batch normalisation recalibrated on the batches."""
        model = copy.deepcopy(self.model)
        recalibrate(model, batches)
        return model.eval()
