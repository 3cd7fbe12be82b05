"""The image that counts: that of the network, and what rays beside the metal get back, if the model says so."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from acdnet.config import ACDNetConfig
from acdnet.model.acdnet import Decomposition
from acdnet.model.border import to_hu, to_network
from acdnet.physics.beside import given_back
from acdnet.physics.geometry import FanBeam

Image = NDArray[np.float32]


def last_image(
    found: Decomposition, config: ACDNetConfig, corrupted: Image, metal: NDArray[np.bool_], geometry: FanBeam
) -> Image:
    """Return the reduced slice in HU; it is square, and has the pixels of the geometry."""
    X = to_hu(found.image)
    if config.last == "none":
        return X
    return X + given_back(taken(found, corrupted), metal, geometry)


def taken(found: Decomposition, corrupted: Image) -> Image:
    """Return what the network took off, in HU. What lies beyond its range stays beyond it."""
    return np.asarray(to_hu(to_network(corrupted)) - to_hu(found.image), np.float32)
