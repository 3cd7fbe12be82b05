"""ACDNet: patches and Eq. (15)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from acdnet.config import ACDNetConfig
from acdnet.data.pairs import PairSet
from acdnet.errors import ConfigError
from acdnet.model.acdnet import ACDNet
from acdnet.model.border import decompose_hu, in_range, to_hu
from acdnet.model.inference import InferenceACDNet
from acdnet.physics.beside import ended
from acdnet.physics.geometry import FanBeam
from acdnet.train.config import TrainConfig
from acdnet.train.lessons.lesson import Batch, Terms, tensors_to
from acdnet.train.loss import L1_WEIGHT, acdnet_loss
from acdnet.train.patches import Patches


class ACDNetLesson:
    """Batches are Y, X_li, X, I: B x 1 x size x size, network units; I is 1 where there is no metal.

    If pixels of lesions or bone have a weight, W is the last.
    """

    calibration = 40
    called = "patches of {patch} x {patch} pixels"

    def __init__(self) -> None:
        self.fast: tuple[nn.Module, InferenceACDNet] | None = None

    def check(self, config: TrainConfig, processes: int) -> None:
        """Refuse patches of one pair that would be parted, and statistics that nobody has measured."""
        t = config.training
        if t.fixed_norms and not config.model.start_from:
            raise ConfigError("training.fixed_norms: random weights have no statistics; say model.start_from")
        if t.relative and t.omega == L1_WEIGHT:
            raise ConfigError("training.relative: say training.omega, such as 1; its usual value is for plain errors")
        T, after = network_of(config).T, config.model.awaken
        if after and not (config.model.start_from and 0 < after < T):
            raise ConfigError(f"model.awaken is {after}; it needs model.start_from and must be 1 to {T - 1}, or 0")
        if t.batch % (t.together * processes):
            raise ConfigError(
                f"training.batch is {t.batch}: no multiple of training.together ({t.together}) in {processes} processes"
            )

    def examples(self, sets: Sequence[PairSet], config: TrainConfig, seed: int, focus: float) -> Patches:
        t, network = config.training, network_of(config)
        return Patches(
            sets,
            t.patch,
            seed,
            focus,
            t.together,
            lesions=t.lesions,
            lesion_weight=t.lesion_weight,
            faint=t.faint,
            bones=t.bones,
            bone_weight=t.bone_weight,
            first=network.first,
        )

    def collate(self, examples: list[Tensor]) -> Batch:
        return torch.stack(examples).unsqueeze(2).unbind(1)

    def to(self, batch: Batch, device: torch.device) -> Batch:
        return tensors_to(batch, device)

    def inputs(self, batch: Batch) -> tuple[Any, ...]:
        Y, X_li, _, I, *_ = batch
        return Y, X_li, I

    def loss(self, network: nn.Module, batch: Batch, config: TrainConfig) -> Terms:
        Y, X_li, X, I, *W = batch
        t = config.training
        found = acdnet_loss(network(Y, X_li, I), Y, X, I, t.omega, W[0] if W else None, t.mu, t.relative)
        return Terms(found._fields, tuple(found))

    def reduced(self, network: nn.Module, pairs: PairSet, index: int) -> NDArray[np.float32]:
        if self.fast is None or self.fast[0] is not network:
            assert isinstance(network, ACDNet)
            self.fast = network, InferenceACDNet(network)
        pair, model = pairs.read(index), self.fast[1]
        found = decompose_hu(model, pair.corrupted, pair.first(model.config.first), pair.metal)
        geometry = FanBeam.of(pairs.size, pairs.pixel_mm(index))
        return ended(model.config.last, to_hu(found.image), in_range(pair.corrupted), pair.metal, geometry)


def network_of(config: TrainConfig) -> ACDNetConfig:
    """Return the sizes of the network that is trained."""
    network = config.model.network()
    assert isinstance(network, ACDNetConfig)
    return network
