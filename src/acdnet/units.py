"""Units and physical constants, all of them.

Arrays outside the network are in Hounsfield units (HU), float32. The physics uses the linear attenuation
coefficient mu in 1/cm. The network uses mu clipped to [0, 1] / cm and stretched to [0, 255].
The functions are plain arithmetic: they take and return numpy arrays as well as torch tensors.
"""

from __future__ import annotations

from typing import Any, TypeVar

Array = TypeVar("Array", bound=Any)

WATER_MU = 0.192
"""Linear attenuation of water in 1/cm at the effective energy of the benchmark (70 keV)."""

MU_CEILING = 1.0
"""Attenuation in 1/cm at which network images saturate; metal lies above and is not the network's business."""

NETWORK_RANGE = 255.0
"""Value of `MU_CEILING` in network units, the range of the 8-bit images such networks were first trained on."""

HU_CEILING = 1000.0 * (MU_CEILING / WATER_MU - 1.0)
"""The largest HU that survives the way into the network and back (4208 HU)."""

HU_PER_UNIT = 1000.0 * MU_CEILING / (NETWORK_RANGE * WATER_MU)
"""One network unit in HU, for differences such as artifacts (about 20 HU)."""


AIR_HU = -1000.0
"""Nothing at all."""

TWELVE_BITS_HU = 3071.0
"""The largest HU of images with 12 bits, at which most scanners cut metal off."""


def mu_from_hu(hu: Array) -> Array:
    """Convert HU to attenuation in 1/cm."""
    mu: Array = WATER_MU * (1.0 + hu / 1000.0)
    return mu


def hu_from_mu(mu: Array) -> Array:
    """Convert attenuation in 1/cm to HU."""
    hu: Array = 1000.0 * (mu / WATER_MU - 1.0)
    return hu


def network_from_hu(hu: Array) -> Array:
    """Convert HU to network units, clipped to [0, 255]."""
    image: Array = mu_from_hu(hu).clip(0.0, MU_CEILING) * (NETWORK_RANGE / MU_CEILING)
    return image


def hu_from_network(image: Array) -> Array:
    """Convert network units to HU."""
    hu: Array = hu_from_mu(image * (MU_CEILING / NETWORK_RANGE))
    return hu
