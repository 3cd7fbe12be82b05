"""What the training loop has to know of a network, whatever its kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from acdnet.data.pairs import PairSet
from acdnet.train.config import TrainConfig

Batch: TypeAlias = tuple[Any, ...]
"""What a lesson's loss takes; the network takes the part that `inputs` returns."""


class Examples(Protocol):
    """An endless list of examples: which comes n-th depends on the seed and n alone."""

    def __getitem__(self, n: int) -> Any: ...


class Terms(NamedTuple):
    """A loss as a sum of terms, already weighted, by name."""

    names: tuple[str, ...]
    values: tuple[Tensor, ...]

    @property
    def total(self) -> Tensor:
        return torch.stack(self.values).sum()

    def items(self) -> dict[str, float]:
        """Return the terms as plain numbers."""
        return dict(zip(self.names, (value.item() for value in self.values), strict=True))


class Lesson(Protocol):
    """Examples, loss and score of one kind of network."""

    calibration: int
    """Batches that settle the statistics of batch normalisation."""
    called: str
    """What its examples are, as cards say it; {patch} is their side."""

    def check(self, config: TrainConfig, processes: int) -> None:
        """Refuse settings that this kind of network cannot be trained with by so many processes."""
        ...

    def examples(self, sets: Sequence[PairSet], config: TrainConfig, seed: int, focus: float) -> Examples:
        """Return the examples of a run."""
        ...

    def collate(self, examples: list[Any]) -> Batch:
        """Make a batch of examples."""
        ...

    def to(self, batch: Batch, device: torch.device) -> Batch:
        """Move a batch to a device."""
        ...

    def inputs(self, batch: Batch) -> tuple[Any, ...]:
        """Return what the network is given of a batch."""
        ...

    def loss(self, network: nn.Module, batch: Batch, config: TrainConfig) -> Terms:
        """Run the network and compare."""
        ...

    def reduced(self, network: nn.Module, pairs: PairSet, index: int) -> NDArray[np.float32]:
        """Reduce a pair with the network in evaluation mode; HU."""
        ...


def tensors_to(batch: Batch, device: torch.device) -> Batch:
    """Move a batch part by part."""
    return tuple(part.to(device) for part in batch)
