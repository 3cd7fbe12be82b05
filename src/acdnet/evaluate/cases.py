"""A pair as evaluation sees it: the truth, and the slice as methods receive it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from acdnet.data.pairs import PairInfo, PairSet
from acdnet.data.store import Pair
from acdnet.errors import InputRefused
from acdnet.physics.geometry import FanBeam
from acdnet.physics.measured import Measured
from acdnet.physics.projector import project


@dataclass(frozen=True)
class Case:
    """One pair, and what else is known of it."""

    info: PairInfo
    pair: Pair
    protocol: str
    pixel_mm: float | None
    sinogram: NDArray[np.float32] | None

    @classmethod
    def read(cls, pairs: PairSet, index: int) -> Case:
        """Read a pair of a set."""
        pair = pairs.read(index)
        return cls(pairs.infos()[index], pair, pairs.protocol, pairs.pixel_mm(index), pairs.sinogram(index))

    @property
    def metal_pixels(self) -> int:
        return int(self.pair.metal.sum())

    @cached_property
    def measured(self) -> Measured:
        """Return the slice as methods receive it: with its raw data in the benchmark's protocol, without elsewhere."""
        image, metal = self.pair.corrupted, self.pair.metal
        if self.protocol != "syndeeplesion":
            if self.pixel_mm is None:
                raise InputRefused(f"{self.info.name}: the pixel size is not known")
            return self.from_image()
        if self.sinogram is None:
            raise InputRefused(
                "the store has no sinograms: simulate with --sinograms, or leave out the methods that need them "
                "(--methods input,li has none)"
            )
        geometry = FanBeam.benchmark(len(image))
        trace = project(torch.from_numpy(metal).float(), geometry) > 0
        return Measured(image, metal, torch.from_numpy(self.sinogram), trace, geometry, "benchmark")

    @property
    def li_is_given(self) -> bool:
        """Whether LI is that of the pair; elsewhere it is made of the image, which has lost what lies above 16 bits."""
        return self.protocol == "syndeeplesion"

    @property
    def image_geometry(self) -> FanBeam:
        """Return a scanner around the image: not the one of its raw data."""
        return FanBeam.of(len(self.pair.corrupted), self.pixel_mm)

    def from_image(self) -> Measured:
        """Return the slice as a scanner's image, projected anew."""
        return Measured.from_image(self.pair.corrupted, self.pair.metal, self.image_geometry)
