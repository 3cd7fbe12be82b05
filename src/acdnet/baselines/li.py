"""LI: the trace of the metal is interpolated linearly, view by view (Kalender et al. 1987)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from acdnet.physics.measured import Measured


def li(measured: Measured) -> NDArray[np.float32]:
    """Reconstruct the interpolated sinogram."""
    return measured.reconstruct(measured.interpolated())
