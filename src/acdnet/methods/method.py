"""The interface of a method of metal artifact reduction: a measurement in, a reduction out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch

from acdnet.physics.measurement import Measurement
from acdnet.units import Image as Image

if TYPE_CHECKING:
    from acdnet.config import NetworkConfig
    from acdnet.model.acdnet import Decomposition
    from acdnet.weights.card import Card, Training


@dataclass(frozen=True)
class Reduction:
    """The result for a slice, on the pixels of the scan."""

    image_hu: Image
    """The corrected image. Values in the metal have no meaning; outputs keep the original metal."""
    expected_error_hu: Image | None = None
    """The error that the network expects; 0 in the metal."""
    decomposition: Decomposition | None = None
    """The decomposition by an ACDNet, on request."""


class Method(Protocol):
    """A method of metal artifact reduction."""

    name: str
    """The name on the command line."""
    label: str
    """The name in tables and reports."""
    parameters: int
    """Number of parameters; 0 for classical methods."""
    weights: str
    """SHA-256 of the weights; empty for classical methods."""
    starts_from: str
    """The corrected image that a network starts from, as named in tables; empty if there is none."""
    training: Training | None
    """The training of a network, if known."""
    device: torch.device
    """The device that computes rays and images."""

    def __call__(self, measurement: Measurement) -> Reduction:
        """Reduce one slice."""
        ...

    def batch(self, measurements: Sequence[Measurement]) -> list[Reduction]:
        """Reduce several slices; on a GPU this is faster than one at a time."""
        ...


class BaseMethod(ABC):
    """A method that implements `batch`."""

    name: str
    label: str
    parameters = 0
    weights = ""
    starts_from = ""
    training: Training | None = None
    device = torch.device("cpu")

    def __call__(self, measurement: Measurement) -> Reduction:
        """Reduce one slice."""
        return self.batch([measurement])[0]

    @abstractmethod
    def batch(self, measurements: Sequence[Measurement]) -> list[Reduction]:
        """Reduce several slices."""


class NetworkMethod(BaseMethod):
    """A method with a trained network."""

    def describe(self, config: NetworkConfig, label: str, card: Card | None, device: str) -> None:
        """Set the attributes that tables and reports show."""
        self.name, self.device = config.network, torch.device(device)
        self.label = f"{label} ({card.name})" if card else label
        self.parameters, self.weights = config.count_parameters(), card.sha256 if card else ""
        self.training = card.training if card else None
