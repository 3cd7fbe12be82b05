"""ACDNet as a method: start, set dense bone aside, decompose, correct the trace.

This module alone acts on `first` and `last` of the configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from acdnet.errors import InputRefused
from acdnet.fast.inference import InferenceACDNet
from acdnet.methods.hu_adapter import above_range, clip_to_range, dense_bone, to_hu, to_network, with_bone
from acdnet.methods.li import li
from acdnet.methods.method import NetworkMethod, Reduction
from acdnet.methods.trace_correction import given_back
from acdnet.methods.trace_fit import trace_fits
from acdnet.methods.uncertainty import expected_error
from acdnet.model.acdnet import ACDNet, part
from acdnet.physics.measurement import Measurement, by_geometry, prepare
from acdnet.units import Image
from acdnet.weights.card import Card

START_LABELS = {"li": "LI", "tracefit": "trace fit"}


STARTS: dict[str, Callable[[Sequence[Measurement]], list[Image]]] = {
    "li": lambda measurements: [li(one) for one in measurements],
    "tracefit": trace_fits,
}
"""The methods whose image the iteration can start from."""


class ACDNetMethod(NetworkMethod):
    """A trained ACDNet on a device."""

    def __init__(self, network: ACDNet, card: Card | None = None, device: str = "cpu") -> None:
        self.describe(network.config, "ACDNet", card, device)
        self.config, self.starts_from = network.config, START_LABELS[network.config.first]
        self.network = InferenceACDNet(network.to(device))
        self.dictionary = network.D.detach().cpu().numpy()

    def batch(self, measurements: Sequence[Measurement]) -> list[Reduction]:
        """Reduce several slices."""
        return self.decompose(measurements, details=False)

    def decompose(self, measurements: Sequence[Measurement], details: bool = True) -> list[Reduction]:
        """Reduce several slices; `details` adds the decomposition with K, M and D * K of every stage."""
        Y, X1, I, B = self._inputs(measurements, self.start(measurements))
        found = with_bone(self.network(Y - B, X1 - B, I, details), B)
        network_images = [to_hu(X) for X in found.image]
        images = self.give_back(network_images, measurements)
        return [
            Reduction(
                np.where(one.slice_metal, X, image),
                expected_error(alone, Y[n : n + 1], one.slice_metal),
                alone if details else None,
            )
            for n, (one, X, image) in enumerate(zip(measurements, network_images, images, strict=True))
            for alone in (part(found, n),)
        ]

    def start(self, measurements: Sequence[Measurement]) -> list[Image]:
        """Return the corrected images to start from, on the pixels of the scan, precomputed ones unchanged."""
        first = self.config.first
        missing = [one for one in measurements if first not in one.given]
        prepare(missing)
        made = iter(STARTS[first](missing))
        return [one.given[first] if first in one.given else one.to_slice(next(made)) for one in measurements]

    def give_back(self, images: Sequence[Image], measurements: Sequence[Measurement]) -> list[Image]:
        """Return the network's images after the trace correction, with values above the range of the network."""
        outside = [np.where(one.slice_metal, one.slice_hu, X) for one, X in zip(measurements, images, strict=True)]
        if self.config.last == "trace_correction":
            outside = self._trace_corrected(outside, measurements)
        return [X + above_range(one.slice_hu, X) for one, X in zip(measurements, outside, strict=True)]

    def _trace_corrected(self, images: Sequence[Image], measurements: Sequence[Measurement]) -> list[Image]:
        corrected = list(images)
        for geometry, numbers in by_geometry(measurements, lambda one: one.image_geometry).items():
            alike = [measurements[n] for n in numbers]
            taken = [clip_to_range(one.slice_hu) - images[n] for n, one in zip(numbers, alike, strict=True)]
            squares = [one.grid.to_square(image, outside=0.0) for one, image in zip(alike, taken, strict=True)]
            back = given_back(squares, [one.metal for one in alike], geometry, self.device)
            for n, one, image in zip(numbers, alike, back, strict=True):
                corrected[n] = images[n] + one.grid.from_square(image)
        return corrected

    def _inputs(
        self, measurements: Sequence[Measurement], starts: Sequence[Image]
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return Y, X1, I and the dense bone B that is set aside, each batch x 1 x H x W."""
        for one, first in zip(measurements, starts, strict=True):
            _check_finite(one, first)
        Y = torch.cat([to_network(one.slice_hu) for one in measurements]).to(self.device)
        X1 = torch.cat([to_network(first) for first in starts]).to(self.device)
        I = torch.from_numpy(np.stack([~one.slice_metal for one in measurements]))[:, None].to(self.device)
        aside = self.config.last == "trace_correction"
        return Y, X1, I, dense_bone(Y, X1, I) if aside else torch.zeros_like(Y)


def _check_finite(one: Measurement, first: Image) -> None:
    if first.shape != one.slice_hu.shape:
        raise InputRefused(f"the start image is {first.shape}, the slice {one.slice_hu.shape}; they must match")
    if not np.isfinite(first).all():
        raise InputRefused("the start image contains values that are not finite")
    if not np.isfinite(one.slice_hu[~one.slice_metal]).all():
        raise InputRefused("the image contains values outside the metal that are not finite")
