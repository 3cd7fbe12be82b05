"""ACDNet as a method: start, set dense bone aside, decompose, give back.

This is the only reader of `first` and `last` in the configuration of a network.
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
from acdnet.methods.method import BaseMethod, Reduction
from acdnet.methods.trace_correction import given_back
from acdnet.methods.trace_fit import trace_fits
from acdnet.methods.uncertainty import expected_error
from acdnet.model.acdnet import ACDNet, part
from acdnet.physics.measurement import Image, Measurement, by_geometry, prepare
from acdnet.weights.card import Card, Training

START_LABELS = {"li": "LI", "tracefit": "trace fit"}


def _start_li(measurements: Sequence[Measurement]) -> list[Image]:
    return [li(one) for one in measurements]


STARTS: dict[str, Callable[[Sequence[Measurement]], list[Image]]] = {"li": _start_li, "tracefit": trace_fits}
"""The methods whose image the iteration can start from."""


class ACDNetMethod(BaseMethod):
    """A network with its weights, on a device."""

    training: Training | None

    def __init__(self, network: ACDNet, card: Card | None = None, label: str = "", device: str = "cpu") -> None:
        network = network.to(device)
        self.config, self.dictionary = network.config, network.D.detach().cpu().numpy()
        self.network, self.device = InferenceACDNet(network), torch.device(device)
        self.name, self.label = "acdnet", label or (f"ACDNet ({card.name})" if card else "ACDNet")
        self.parameters, self.weights = self.config.count_parameters(), card.sha256 if card else ""
        self.starts_from, self.training = START_LABELS[self.config.first], card.training if card else None

    def batch(self, measurements: Sequence[Measurement]) -> list[Reduction]:
        """Reduce several slices."""
        return self.decompose(measurements, details=False)

    def decompose(self, measurements: Sequence[Measurement], details: bool = True) -> list[Reduction]:
        """Reduce several slices; with `details` each comes with its decomposition, K, M and D * K of every stage."""
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
        """Return the corrected images to start from, on the pixels of the scan; those that are given are taken."""
        first = self.config.first
        missing = [one for one in measurements if first not in one.given]
        prepare(missing)
        made = iter(STARTS[first](missing))
        return [one.given[first] if first in one.given else one.to_slice(next(made)) for one in measurements]

    def give_back(self, images: Sequence[Image], measurements: Sequence[Measurement]) -> list[Image]:
        """Return the network's images with what rays that miss the metal get back, and with values above its range."""
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
        """Return Y, X1, I and the dense bone B that is set aside, B x 1 x H x W."""
        for one, first in zip(measurements, starts, strict=True):
            _check_finite(one, first)
        Y = torch.cat([to_network(one.slice_hu) for one in measurements]).to(self.device)
        X1 = torch.cat([to_network(first) for first in starts]).to(self.device)
        I = torch.from_numpy(np.stack([~one.slice_metal for one in measurements]))[:, None].to(self.device)
        aside = self.config.last == "trace_correction"
        return Y, X1, I, dense_bone(Y, X1, I) if aside else torch.zeros_like(Y)


def _check_finite(one: Measurement, first: Image) -> None:
    if first.shape != one.slice_hu.shape:
        raise InputRefused(f"the image to start from is {first.shape}, the slice {one.slice_hu.shape}")
    if not np.isfinite(first).all():
        raise InputRefused("the image to start from holds values that are not finite")
    if not np.isfinite(one.slice_hu[~one.slice_metal]).all():
        raise InputRefused("the image holds values outside the metal that are not finite")
