"""The dual-domain networks as methods: DuDoNet, DSCMAR and DuDoNet++."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from acdnet.methods.learned.dual import DualNetwork
from acdnet.methods.learned.observed import observe, to_hu
from acdnet.methods.method import NetworkMethod, Reduction
from acdnet.physics.measurement import Measurement, prepare
from acdnet.units import Image
from acdnet.weights.card import Card

LABELS = {"dudonet": "DuDoNet", "dscmar": "DSCMAR", "dudonet++": "DuDoNet++"}
STARTS = {"dudonet": "LI", "dscmar": "LI", "dudonet++": ""}
"""The corrected images that the networks take."""


class DualDomainMethod(NetworkMethod):
    """A trained dual-domain network on a device."""

    def __init__(self, network: DualNetwork, card: Card | None = None, device: str = "cpu") -> None:
        kind = network.config.network
        self.describe(network.config, LABELS[kind], card, device)
        self.network, self.starts_from = network.to(device).eval(), STARTS[kind]

    def batch(self, measurements: Sequence[Measurement]) -> list[Reduction]:
        """Reduce slices one by one: batch normalisation uses the statistics of each slice."""
        prepare(measurements)
        return [Reduction(one.to_slice(self._reduce(one))) for one in measurements]

    @torch.no_grad()
    def _reduce(self, one: Measurement) -> Image:
        return to_hu(self.network(observe(one, one.given.get("li")).to(self.device)).image)
