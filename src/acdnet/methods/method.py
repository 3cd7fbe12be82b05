"""What a method of metal artifact reduction is: a measurement in, a reduction out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from acdnet.physics.measurement import Measurement

if TYPE_CHECKING:
    from acdnet.model.acdnet import Decomposition
    from acdnet.weights.card import Training

Image = NDArray[np.float32]


@dataclass(frozen=True)
class Reduction:
    """What a method made of a slice, on the pixels of the scan."""

    image_hu: Image
    """The corrected image. Under the metal its values have no meaning: files and pictures keep the metal as it was."""
    expected_error_hu: Image | None = None
    """The error that a network expects of itself; 0 in the metal."""
    decomposition: Decomposition | None = None
    """What an ACDNet found on the way, if it was asked for."""


class Method(Protocol):
    """A method of metal artifact reduction."""

    name: str
    """What it is called on the command line."""
    label: str
    """What it is called in tables and reports."""
    parameters: int
    """How many numbers it learned; 0 for classical methods."""
    weights: str
    """SHA-256 of the weights of a network; empty for classical methods."""
    starts_from: str
    """The corrected image that a network is given, as tables name it; empty where there is none."""
    training: Training | None
    """What a network has seen."""
    device: torch.device
    """Where rays and images are computed."""

    def __call__(self, measurement: Measurement) -> Reduction:
        """Reduce one slice."""
        ...

    def batch(self, measurements: Sequence[Measurement]) -> list[Reduction]:
        """Reduce several slices; on a GPU this is faster than one after the other."""
        ...


class BaseMethod(ABC):
    """A method written for several slices at a time."""

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
