"""The dual-domain networks: whole slices one at a time, absolute errors of sinogram and of both images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skimage.transform import resize
from torch import nn

from acdnet.data.pairs import PairSet
from acdnet.errors import ConfigError, InputRefused
from acdnet.evaluate.cases import Case
from acdnet.physics.geometry import FanBeam
from acdnet.physics.measured import Measured
from acdnet.rivals.dual import DualNetwork
from acdnet.rivals.observed import observe, water_units
from acdnet.rivals.run import run_rival
from acdnet.train.config import TrainConfig
from acdnet.train.lessons.lesson import Batch, Terms, tensors_to

Image = NDArray[np.float32]


@dataclass
class Slices:
    """An endless list of slices in both domains, with their truth: observed slice, clean image, clean sinogram."""

    sets: Sequence[PairSet]
    seed: int
    grid: int
    """Side to which slices are brought; 0: as they are."""

    def __post_init__(self) -> None:
        self.counts = [len(pairs.infos()) for pairs in self.sets]
        if not all(self.counts):
            raise InputRefused("a set of the training data holds no pair")

    def __getitem__(self, n: int) -> Batch:
        rng = np.random.default_rng([self.seed, n])
        which = int(rng.integers(len(self.sets)))
        pairs, index = self.sets[which], int(rng.integers(self.counts[which]))
        case = Case.read(pairs, index)
        if self.grid:
            measured, clean, li = coarse(case, self.grid)
        else:
            measured, clean, li = case.measured, case.pair.clean, case.pair.li
        observed, X = observe(measured, li), water_units(clean)
        lines = None if measured.projected else pairs.clean_sinogram(index)
        # what was measured beside the metal is polychromatic, and what is filled in has to go with it
        S = observed.project(X) if lines is None else torch.from_numpy(lines)[None, None] * observed.shrunk
        return observed, X, S


def coarse(case: Case, grid: int) -> tuple[Measured, Image, None]:
    """Bring a case to fewer pixels of the same field; its sinogram is then projected from the image, by fewer views."""
    size = len(case.pair.clean)
    clean, corrupted = (
        resize(image, (grid, grid), anti_aliasing=grid < size) for image in (case.pair.clean, case.pair.corrupted)
    )
    benchmark = case.protocol == "syndeeplesion" or case.pixel_mm is None
    pixel_cm = FanBeam.benchmark(size).pixel_cm if benchmark else (case.pixel_mm or 0.0) / 10
    views = 8 * max(1, round(640 * grid / size / 8))
    scanner = FanBeam.around(grid, pixel_cm * size / grid, views=views)
    return Measured.from_image(corrupted, on_grid(case.pair.metal, grid), scanner), clean, None


def on_grid(metal: NDArray[np.bool_], grid: int) -> NDArray[np.bool_]:
    """Bring a mask to other pixels: those that hold any metal. Thin wires stay."""
    if grid >= len(metal):
        return np.asarray(resize(metal.astype(np.float32), (grid, grid)) >= 0.5)
    found = np.zeros((grid, grid), bool)
    rows, columns = ((one * grid) // len(metal) for one in np.nonzero(metal))
    found[rows, columns] = True
    return found


class DualLesson:
    """Batches hold one slice: observed, clean image, clean sinogram."""

    calibration = 0  # every slice is normalised by itself
    called = "whole slices"

    def check(self, config: TrainConfig, processes: int) -> None:
        if config.training.batch != processes:
            raise ConfigError(
                f"training.batch is {config.training.batch}, and there are {processes} processes; networks in both "
                "domains take one slice in each"
            )

    def examples(self, sets: Sequence[PairSet], config: TrainConfig, seed: int, focus: float) -> Slices:  # noqa: ARG002
        return Slices(sets, seed, config.data.grid)

    def collate(self, examples: list[Batch]) -> Batch:
        (one,) = examples
        return one

    def to(self, batch: Batch, device: torch.device) -> Batch:
        return tensors_to(batch, device)

    def inputs(self, batch: Batch) -> tuple[Any, ...]:
        return batch[:1]

    def loss(self, network: nn.Module, batch: Batch, config: TrainConfig) -> Terms:  # noqa: ARG002 all weights are one
        observed, X, S = batch
        found = network(observed)
        names = ("sinogram_l1", "between_l1", "image_l1")
        seen = observed.I > 0
        images = (torch.where(seen, image - X, 0.0).abs().mean() for image in (found.between, found.image))
        return Terms(names, ((found.sinogram - S).abs().mean(), *images))

    def reduced(self, network: nn.Module, pairs: PairSet, index: int) -> NDArray[np.float32]:
        assert isinstance(network, DualNetwork)
        case = Case.read(pairs, index)
        return run_rival(network, case.measured, case.pair.li)
