"""LI: interpolate the metal trace linearly, view by view (Kalender et al. 1987)."""

from __future__ import annotations

from acdnet.physics.measurement import Measurement
from acdnet.units import Image


def li(measurement: Measurement) -> Image:
    """Reconstruct the interpolated sinogram."""
    return measurement.reconstruct(measurement.interpolated())
