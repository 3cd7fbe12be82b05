"""A small slice with metal in a small scanner."""

from __future__ import annotations

import numpy as np

from acdnet.physics.geometry import FanBeam
from acdnet.physics.measurement import Measurement

SIZE = 32
SCANNER = FanBeam(SIZE, pixel_cm=0.5, views=40, bins=51, bin_cm=0.9, source_cm=60.0, detector_cm=50.0)


def small_measurement() -> Measurement:
    """Return a disc of water with a bone and a piece of metal that throws streaks."""
    y, x = np.mgrid[:SIZE, :SIZE] - (SIZE - 1) / 2
    hu = np.where(x**2 + y**2 < 13**2, 20.0, -1000.0)
    hu[(x - 5) ** 2 + y**2 < 9] = 700.0
    metal = (x + 4) ** 2 + (y - 2) ** 2 < 3
    streaks = 150 * np.sin(x / 2) * np.exp(-((y - 2) ** 2) / 8)
    hu = np.where(metal, 4000.0, hu + np.where(hu > -900, streaks, 0.0))
    return Measurement.of_square(hu.astype(np.float32), metal, SCANNER)
