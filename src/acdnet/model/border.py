"""The border between the world, in HU, and the network, in network units. There is no other.

Networks that learnt from trunks have seen little of bone as dense as jaws and skulls, and take it for artifact. As the
artifact is added to the image, whatever it shows, what is known to be bone can be set aside: with the image X1 that the
network begins with, and I = 1 outside metal,

    B = I . max(min(Y, X1) - |Y - X1| - DENSE, 0)     bone denser than that, where both images agree
    Y - B = (X - B) + A                               is the same model of the same artifact

The network finds X - B and A, and B is put back. Models for images of scanners do that (`last = "beside"`); in the
benchmark's protocol, where X was never scanned and Y was, bone of both differs, and scores get worse by it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from acdnet.errors import InputRefused
from acdnet.model.acdnet import Decomposition
from acdnet.model.inference import InferenceACDNet
from acdnet.units import hu_from_network, network_from_hu

DENSE_HU = 600.0
"""Bone above this is set aside. Chosen on phantoms; on patients' trunks nothing changes by it."""
MOST_METAL = 0.5
"""Share of a slice that can be metal; a mask that claims more is the wrong way round."""


def to_network(hu: NDArray[np.float32]) -> Tensor:
    """Bring a slice in HU, H x W, to the network: 1 x 1 x H x W, clipped to [0, 255]."""
    return torch.from_numpy(np.asarray(network_from_hu(hu), dtype=np.float32))[None, None]


def to_hu(image: Tensor) -> NDArray[np.float32]:
    """Bring an image of the network, 1 x 1 x H x W, back to a slice in HU."""
    hu: NDArray[np.float32] = hu_from_network(image[0, 0].detach().cpu()).numpy()
    return hu


def in_range(hu: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cut a slice in HU off where the network does."""
    return to_hu(to_network(hu))


def decompose_hu(
    model: InferenceACDNet,
    corrupted: NDArray[np.float32],
    first: NDArray[np.float32],
    metal: NDArray[np.bool_],
    details: bool = False,
) -> Decomposition:
    """Run the network on one slice: the corrupted image and the one to begin with, in HU, and the metal.

    `first` is what the method `model.config.first` makes of the slice, finite everywhere; `look_inside` makes it.
    Under the metal `corrupted` may hold anything, even NaN.
    """
    corrupted, first, hidden = _slice(corrupted), _slice(first), _mask(metal)
    if not corrupted.shape == first.shape == hidden.shape:
        sizes = f"{corrupted.shape}, {first.shape} and {hidden.shape}"
        raise InputRefused(f"image, first image and metal must be of one size, not {sizes}")
    if not np.isfinite(first).all():
        raise InputRefused("the image to begin with holds numbers that are not finite")
    if not np.isfinite(corrupted[~hidden]).all():
        raise InputRefused("the image holds numbers outside the metal that are not finite")
    device = next(model.parameters()).device
    I = torch.from_numpy(~hidden)[None, None].to(device)
    Y, X1 = to_network(corrupted).to(device), to_network(first).to(device)
    found: Decomposition
    if model.config.last == "none":
        found = model(Y, X1, I, details)
        return found
    B = dense(Y, X1, I)
    found = model(Y - B, X1 - B, I, details)
    return replace(
        found,
        image=found.image + B,
        images=tuple(X + B for X in found.images),
        start_images=(found.start_images[0] + B, found.start_images[1] + B),
    )


def dense(Y: Tensor, X1: Tensor, I: Tensor) -> Tensor:
    """Return B, what is denser than DENSE_HU in both images, outside metal; in network units."""
    agreed, least = torch.minimum(Y, X1) - (Y - X1).abs(), network_from_hu(torch.tensor(DENSE_HU))
    return torch.where(I.bool(), (agreed - least).clamp(min=0.0), 0.0)


def reduced_hu(found: Decomposition, corrupted: NDArray[np.float32], metal: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the network's image in HU, the metal put back as it was; `reduce` may go on from it (`config.last`)."""
    corrupted, hidden, image = _slice(corrupted), _mask(metal), to_hu(found.image)
    if not image.shape == corrupted.shape == hidden.shape:
        raise InputRefused(f"found was made from a slice of {image.shape}, not {corrupted.shape} and {hidden.shape}")
    return np.where(hidden, corrupted, image)


def _slice(values: NDArray[Any]) -> NDArray[np.float32]:
    """Take an array for what it should be: one slice of real numbers."""
    array = np.asarray(values)
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "fiub":
        raise InputRefused(f"one slice of numbers is needed (H x W), not {array.dtype} of {array.shape}")
    return array.astype(np.float32)


def _mask(metal: NDArray[Any]) -> NDArray[np.bool_]:
    """Take a mask of true and false, or of 0 and one other number; refuse what is likely to be something else."""
    array = _slice(metal)
    others = np.unique(array[array != 0])
    if len(others) > 1 or not np.isfinite(others).all():
        raise InputRefused("the metal mask must be true or false, or hold 0 and one other number")
    hidden: NDArray[np.bool_] = array != 0
    if hidden.mean() > MOST_METAL:
        raise InputRefused(f"metal covers {hidden.mean():.0%} of the slice; is the mask inverted? true means metal")
    return hidden
