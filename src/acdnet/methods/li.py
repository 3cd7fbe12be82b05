"""LI: the trace of the metal is interpolated linearly, view by view (Kalender et al. 1987)."""

from __future__ import annotations

from acdnet.physics.measurement import Image, Measurement


def li(measurement: Measurement) -> Image:
    """Reconstruct the interpolated sinogram."""
    return measurement.reconstruct(measurement.interpolated())
