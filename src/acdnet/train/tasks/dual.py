"""The task of the dual-domain networks: single slices, and the absolute errors of the sinogram and both images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from acdnet.data.pairs import PairSet
from acdnet.errors import ConfigError, InputRefused
from acdnet.evaluate.case import Case
from acdnet.methods.learned.observed import observe, water_units
from acdnet.train.config import TrainConfig
from acdnet.train.tasks.task import Batch, Task, Terms


@dataclass
class Slices:
    """An endless list of examples: observed slice, clean image, clean sinogram."""

    sets: Sequence[PairSet]
    seed: int

    def __post_init__(self) -> None:
        self.counts = [len(pairs.infos()) for pairs in self.sets]
        if not all(self.counts):
            raise InputRefused("a data set of data.train contains no pairs")

    def __getitem__(self, n: int) -> Batch:
        rng = np.random.default_rng([self.seed, n])
        which = int(rng.integers(len(self.sets)))
        pairs, index = self.sets[which], int(rng.integers(self.counts[which]))
        case = Case.read(pairs, index)
        measurement = case.measurement()
        observed, X = observe(measurement, case.pair.li), water_units(case.pair.clean)
        lines = None if measurement.is_projected else pairs.clean_sinogram(index)
        # measured rays are polychromatic, and the rays that replace them have to match
        S = observed.project(X) if lines is None else torch.from_numpy(lines)[None, None] * observed.shrunk
        return observed, X, S


class DualTask(Task):
    """Batches hold one slice: observed, clean image, clean sinogram."""

    called = "whole slices"

    def check(self, config: TrainConfig, processes: int) -> None:
        if config.training.batch != processes:
            raise ConfigError(
                f"training.batch is {config.training.batch}; dual-domain networks need one slice per process "
                f"(here {processes})"
            )

    def examples(self, sets: Sequence[PairSet], config: TrainConfig, seed: int, hard_patch_share: float) -> Slices:  # noqa: ARG002
        return Slices(sets, seed)

    def collate(self, examples: list[Batch]) -> Batch:
        (one,) = examples
        return one

    def loss(self, network: nn.Module, batch: Batch, config: TrainConfig) -> Terms:  # noqa: ARG002
        observed, X, S = batch
        output = network(observed)
        names = ("sinogram_l1", "between_l1", "image_l1")
        outside = observed.I > 0
        images = (torch.where(outside, image - X, 0.0).abs().mean() for image in (output.between, output.image))
        return Terms(names, ((output.sinogram - S).abs().mean(), *images))
