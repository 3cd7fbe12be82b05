"""The task of CNNMAR: patches of the uncorrected, the BHC and the LI image, and the squared error."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import torch
from torch import Tensor, nn

from acdnet.data.pairs import PairSet
from acdnet.evaluate.case import Case
from acdnet.methods.cnnmar import three_images
from acdnet.physics.measurement import attenuation
from acdnet.train.config import TrainConfig
from acdnet.train.patches import Patches, Window
from acdnet.train.tasks.task import Batch, Task, Terms
from acdnet.units import WATER_MU

KEPT = 4000
"""Pairs for which the three images are kept in memory, 1 MB each: computing BHC takes longer than a step."""


class ThreeImagePatches(Patches):
    """Patches of the three images, the clean image and the mask: 5 x size x size, 1/cm."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.kept: OrderedDict[tuple[int, int], Tensor] = OrderedDict()
        self.lock = Lock()

    def example(self, which: int, index: int, window: Window) -> Tensor:
        pair = window.pair
        rows, columns = window.rows, window.columns
        images = self._images(which, index)[:, rows, columns].float()
        return torch.cat((images, attenuation(pair.clean)[None], torch.from_numpy(~pair.metal).float()[None]))

    def _images(self, which: int, index: int) -> Tensor:
        key = (which, index)
        with self.lock:
            if key in self.kept:
                self.kept.move_to_end(key)
                return self.kept[key]
        case = Case.read(self.sets[which], index)
        images = three_images(case.measurement(), case.pair.li).half()
        with self.lock:
            self.kept[key] = images
            while len(self.kept) > KEPT:
                self.kept.popitem(last=False)
        return images


class CNNMARTask(Task):
    """Batches are the three images, B x 3 x size x size, the clean image and the mask, B x 1 x size x size."""

    def examples(
        self, sets: Sequence[PairSet], config: TrainConfig, seed: int, hard_patch_share: float
    ) -> ThreeImagePatches:
        return ThreeImagePatches(sets, config.training.patch, seed, hard_patch_share)

    def collate(self, examples: list[Tensor]) -> Batch:
        images, X, I = torch.stack(examples).split((3, 1, 1), 1)
        return images, X, I

    def loss(self, network: nn.Module, batch: Batch, config: TrainConfig) -> Terms:  # noqa: ARG002
        images, X, I = batch
        off = torch.where(I > 0, network(images) - X, 0.0) / WATER_MU
        return Terms(("image_l2",), (off.square().mean(),))
