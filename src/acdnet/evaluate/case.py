"""A pair to evaluate: the truth, and the slice as methods receive it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from acdnet.config import BENCHMARK
from acdnet.data.pairs import PairInfo, PairSet
from acdnet.data.store import Pair
from acdnet.errors import InputRefused
from acdnet.physics.geometry import FanBeam
from acdnet.physics.measurement import Measurement, RawData
from acdnet.physics.projector import project


@dataclass(frozen=True)
class Case:
    """A pair with its protocol, pixel size and sinogram."""

    info: PairInfo
    pair: Pair
    protocol: str
    pixel_mm: float | None
    sinogram: NDArray[np.float32] | None

    @classmethod
    def read(cls, pairs: PairSet, index: int) -> Case:
        """Read a pair from a set."""
        pair = pairs.read(index)
        return cls(pairs.infos()[index], pair, pairs.protocol, pairs.pixel_mm(index), pairs.sinogram(index))

    @property
    def metal_pixels(self) -> int:
        return int(self.pair.metal.sum())

    def measurement(self, device: torch.device | str = "cpu") -> Measurement:
        """Return the slice as methods receive it.

        In the benchmark's protocol it has raw data and its LI image. In the clinical protocol it has neither: the LI
        image of a store was computed before the image was rounded.
        """
        image, metal, device = self.pair.corrupted, self.pair.metal, torch.device(device)
        scanner = FanBeam.of(len(image), self.pixel_mm)
        mm = 10 * scanner.pixel_cm
        if self.protocol != BENCHMARK:
            if self.pixel_mm is None:
                raise InputRefused(f"{self.info.name}: the pixel size is unknown")
            return Measurement(image, metal, (mm, mm), scanner=scanner, device=device)
        given = {"li": self.pair.li}
        if self.sinogram is None and self.pair.tracefit is not None:
            given["tracefit"] = self.pair.tracefit
        raw = None if self.sinogram is None else self._raw_data()
        return Measurement(image, metal, (mm, mm), raw, given, device, scanner, needs_raw=True)

    def _raw_data(self) -> RawData:
        geometry = FanBeam.benchmark(len(self.pair.corrupted))
        trace = project(torch.from_numpy(self.pair.metal).float(), geometry) > 0
        return RawData(torch.from_numpy(self.sinogram), trace, geometry)
