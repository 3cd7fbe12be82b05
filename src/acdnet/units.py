"""Units, physical constants, and the types of slices and masks.

Arrays outside the network are in Hounsfield units (HU), float32. The physics uses the linear attenuation
coefficient mu in 1/cm. The network uses mu clipped to [0, 1] / cm and scaled to [0, 255].
The functions are plain arithmetic and accept numpy arrays and torch tensors.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.float32]
Mask = NDArray[np.bool_]
Array = TypeVar("Array", bound=Any)

WATER_MU = 0.192
"""Linear attenuation of water in 1/cm at the effective energy of the benchmark (70 keV)."""

MU_CEILING = 1.0
"""Attenuation in 1/cm at which network images saturate; metal lies above."""

NETWORK_RANGE = 255.0
"""Value of `MU_CEILING` in network units, the range of 8-bit images."""

HU_CEILING = 1000.0 * (MU_CEILING / WATER_MU - 1.0)
"""The largest HU that network units can represent (4208 HU)."""

HU_PER_UNIT = 1000.0 * MU_CEILING / (NETWORK_RANGE * WATER_MU)
"""One network unit in HU, for differences such as artifacts (about 20 HU)."""

AIR_HU = -1000.0

TWELVE_BITS_HU = 3071.0
"""The largest HU of 12-bit images, at which most scanners clip metal."""


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
