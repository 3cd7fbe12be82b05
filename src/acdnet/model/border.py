"""The border between the world, in HU, and the network, in network units. There is no other."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from acdnet.errors import InputRefused
from acdnet.model.acdnet import Decomposition
from acdnet.model.inference import InferenceACDNet
from acdnet.units import hu_from_network, network_from_hu


def to_network(hu: NDArray[np.float32]) -> Tensor:
    """Bring a slice in HU, H x W, to the network: 1 x 1 x H x W, clipped to [0, 255]."""
    return torch.from_numpy(np.asarray(network_from_hu(hu), dtype=np.float32))[None, None]


def to_hu(image: Tensor) -> NDArray[np.float32]:
    """Bring an image of the network, 1 x 1 x H x W, back to a slice in HU."""
    hu: NDArray[np.float32] = hu_from_network(image[0, 0].detach().cpu()).numpy()
    return hu


def decompose_hu(
    model: InferenceACDNet,
    corrupted: NDArray[np.float32],
    li: NDArray[np.float32],
    metal: NDArray[np.bool_],
    details: bool = False,
) -> Decomposition:
    """Run the network on one slice: the corrupted image and its LI correction in HU, and where the metal is.

    Under the metal `corrupted` may hold anything, even NaN; `li` has to be finite everywhere.
    """
    if not corrupted.shape == li.shape == metal.shape or corrupted.ndim != 2:
        shapes = f"{corrupted.shape}, {li.shape}, {metal.shape}"
        raise InputRefused(f"image, LI correction and metal must be slices of one size, not {shapes}")
    if not np.isfinite(li).all():
        raise InputRefused("the LI correction holds numbers that are not finite")
    metal = np.asarray(metal) != 0
    if not np.isfinite(corrupted[~metal]).all():
        raise InputRefused("the image holds numbers outside the metal that are not finite")
    I = torch.from_numpy(~metal)[None, None]
    device = next(model.parameters()).device
    found: Decomposition = model(to_network(corrupted).to(device), to_network(li).to(device), I.to(device), details)
    return found


def reduced_hu(found: Decomposition, corrupted: NDArray[np.float32], metal: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the reduced slice in HU, the metal put back as it was."""
    return np.where(np.asarray(metal) != 0, corrupted, to_hu(found.image))
