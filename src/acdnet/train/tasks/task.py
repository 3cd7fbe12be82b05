"""The interface between the training loop and a kind of network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import torch
from torch import Tensor, nn

from acdnet.data.pairs import PairSet
from acdnet.methods.registry import network_method
from acdnet.train.config import TrainConfig
from acdnet.train.validate import validate
from acdnet.weights.networks import Network

Batch: TypeAlias = tuple[Any, ...]
"""The arguments of a task's loss; `Task.inputs` returns those of the network."""


class Examples(Protocol):
    """An endless list of examples; example n depends only on the seed and n."""

    def __getitem__(self, n: int) -> Any: ...


class Terms(NamedTuple):
    """A loss as a sum of named, weighted terms."""

    names: tuple[str, ...]
    values: tuple[Tensor, ...]

    @property
    def total(self) -> Tensor:
        return torch.stack(self.values).sum()

    def items(self) -> dict[str, float]:
        """Return the terms by name as plain numbers."""
        return dict(zip(self.names, (value.item() for value in self.values), strict=True))


class Task(ABC):
    """Examples and loss of one kind of network."""

    calibration = 0
    """Number of batches that recalibrate batch normalisation."""
    called = "patches of {patch} x {patch} pixels"
    """Description of its examples in cards; {patch} is their side."""

    def check(self, config: TrainConfig, processes: int) -> None:  # noqa: B027
        """Refuse settings that do not suit this kind of network or the number of processes."""

    @abstractmethod
    def examples(self, sets: Sequence[PairSet], config: TrainConfig, seed: int, hard_patch_share: float) -> Examples:
        """Return the examples of a run."""

    @abstractmethod
    def collate(self, examples: list[Any]) -> Batch:
        """Combine examples into a batch."""

    def to(self, batch: Batch, device: torch.device) -> Batch:
        """Move a batch to a device."""
        return tuple(part.to(device) for part in batch)

    def inputs(self, batch: Batch) -> Batch:
        """Return the part of a batch that the network takes."""
        return batch[:1]

    def validate(self, network: Network, sets: Sequence[PairSet], count: int) -> dict[str, float]:
        """Score a network on held-out pairs."""
        return validate(network_method(network), sets, count)

    @abstractmethod
    def loss(self, network: nn.Module, batch: Batch, config: TrainConfig) -> Terms:
        """Run the network and compare its output with the truth."""
