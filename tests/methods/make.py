"""Small slices with metal, and the measurement of each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.physics.geometry import FanBeam
from acdnet.physics.measurement import Measurement

SIZE = 48
SCANNER = FanBeam(SIZE, pixel_cm=0.5, views=160, bins=75, bin_cm=0.85, source_cm=60.0, detector_cm=50.0)
"""With few rays, so that tensor operations are quick on a CPU."""

Image = NDArray[np.float32]
Mask = NDArray[np.bool_]


def slice_with_metal(rows: int = SIZE, columns: int = SIZE, at: tuple[float, float] = (2, -6)) -> tuple[Image, Mask]:
    """Return a noisy disc of water with a bone, and a piece of metal (rows, columns from the middle) with a streak."""
    y, x = np.mgrid[:rows, :columns] - np.array([(rows - 1) / 2, (columns - 1) / 2])[:, None, None]
    hu = np.where(x**2 + y**2 < 20**2, np.random.default_rng(0).normal(20, 10, x.shape), -1000.0)
    hu[(x - 8) ** 2 + y**2 < 16] = 900.0
    metal = (y - at[0]) ** 2 + (x - at[1]) ** 2 < 5
    streak = 200 * np.sin(x / 2) * np.exp(-((y - at[0]) ** 2) / 12)
    hu += np.where(hu > -900, streak, 0.0)
    return np.where(metal, 4000.0, hu).astype(np.float32), np.asarray(metal)


def measure(at: tuple[float, float] = (2, -6), **values: Any) -> Measurement:
    """Return the measurement of a small slice in the small scanner."""
    hu, metal = slice_with_metal(at=at)
    mm = 10 * SCANNER.pixel_cm
    return Measurement(hu, metal, (mm, mm), scanner=SCANNER, **values)
