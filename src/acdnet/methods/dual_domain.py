"""The dual-domain networks as methods: DuDoNet, DSCMAR and DuDoNet++."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from acdnet.methods.learned.dual import DualNetwork
from acdnet.methods.learned.observed import observe, to_hu
from acdnet.methods.method import BaseMethod, Reduction
from acdnet.physics.measurement import Image, Measurement, prepare
from acdnet.weights.card import Card

LABELS = {"dudonet": "DuDoNet", "dscmar": "DSCMAR", "dudonet++": "DuDoNet++"}
STARTS = {"dudonet": "LI", "dscmar": "LI", "dudonet++": ""}
"""The corrected images that the networks are given."""


class DualDomainMethod(BaseMethod):
    """A network with its weights, on a device."""

    def __init__(self, network: DualNetwork, card: Card | None = None, label: str = "", device: str = "cpu") -> None:
        self.network, self.device = network.to(device).eval(), torch.device(device)
        self.name = network.config.network
        self.label = label or (f"{LABELS[self.name]} ({card.name})" if card else LABELS[self.name])
        self.parameters, self.weights = network.config.count_parameters(), card.sha256 if card else ""
        self.starts_from, self.training = STARTS[self.name], card.training if card else None

    def batch(self, measurements: Sequence[Measurement]) -> list[Reduction]:
        """Reduce slices one by one: the networks normalise each slice by itself."""
        prepare(measurements)
        return [Reduction(one.to_slice(self._reduce(one))) for one in measurements]

    @torch.no_grad()
    def _reduce(self, one: Measurement) -> Image:
        return to_hu(self.network(observe(one, one.given.get("li")).to(self.device)).image)
