"""Split an image into water and bone; between two thresholds a pixel is a mixture."""

from __future__ import annotations

from torch import Tensor

from acdnet.units import mu_from_hu

WATER_BELOW = float(mu_from_hu(100.0))
"""Attenuation up to which tissue is water (0.2112 / cm)."""

BONE_ABOVE = float(mu_from_hu(1500.0))
"""Attenuation from which tissue is cortical bone (0.48 / cm)."""


def split(mu: Tensor) -> tuple[Tensor, Tensor]:
    """Split attenuation into that of water and that of bone; they add up to it."""
    share = ((mu - WATER_BELOW) / (BONE_ABOVE - WATER_BELOW)).clamp(0.0, 1.0)
    bone = mu * share
    return mu - bone, bone
