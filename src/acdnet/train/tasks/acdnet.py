"""The task of ACDNet: patches and the loss of Eq. (15)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from acdnet.config import ACDNetConfig
from acdnet.data.pairs import PairSet
from acdnet.errors import ConfigError
from acdnet.model.loss import L1_WEIGHT, acdnet_loss
from acdnet.train.config import TrainConfig
from acdnet.train.patches import Patches
from acdnet.train.tasks.task import Batch, Task, Terms


class ACDNetTask(Task):
    """Batches are Y, X_li, X, I: B x 1 x size x size, network units; I is 1 outside metal.

    If `lesion_weight` is set, batches end with the weights W.
    """

    calibration = 40

    def check(self, config: TrainConfig, processes: int) -> None:
        """Refuse settings that do not fit together."""
        t = config.training
        if t.fixed_norms and not config.model.start_from:
            raise ConfigError("training.fixed_norms needs statistics; set model.start_from")
        if t.relative and t.omega == L1_WEIGHT:
            raise ConfigError("training.relative: set training.omega, for example to 1; its default suits plain errors")
        if t.batch % (t.patches_per_pair * processes):
            raise ConfigError(
                f"training.batch is {t.batch}; it must be a multiple of training.patches_per_pair times the number of "
                f"processes ({t.patches_per_pair} x {processes})"
            )

    def examples(self, sets: Sequence[PairSet], config: TrainConfig, seed: int, hard_patch_share: float) -> Patches:
        t, network = config.training, network_of(config)
        return Patches(
            sets,
            t.patch,
            seed,
            hard_patch_share,
            t.patches_per_pair,
            lesions=t.lesions,
            lesion_weight=t.lesion_weight,
            artifact_scaling=t.artifact_scaling,
            first=network.first,
        )

    def collate(self, examples: list[Tensor]) -> Batch:
        return torch.stack(examples).unsqueeze(2).unbind(1)

    def inputs(self, batch: Batch) -> Batch:
        Y, X_li, _, I, *_ = batch
        return Y, X_li, I

    def loss(self, network: nn.Module, batch: Batch, config: TrainConfig) -> Terms:
        Y, X_li, X, I, *W = batch
        t = config.training
        found = acdnet_loss(network(Y, X_li, I), Y, X, I, t.omega, W[0] if W else None, t.mu, t.relative)
        return Terms(found._fields, tuple(found))


def network_of(config: TrainConfig) -> ACDNetConfig:
    """Return the sizes of the ACDNet that is trained."""
    network = config.model.network()
    assert isinstance(network, ACDNetConfig)
    return network
