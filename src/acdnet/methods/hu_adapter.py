"""The border between the world, in HU, and the network, in network units. There is no other.

Networks that learned from trunks have seen little bone as dense as jaws and skulls, and take it for artifact. As the
artifact is added to the image whatever the image shows, what is known to be bone can be set aside. With the image X1
that the network starts from, and I = 1 outside metal,

    B = I . max(min(Y, X1) - |Y - X1| - DENSE, 0)     bone denser than DENSE, where both images agree
    Y - B = (X - B) + A                               is the same model of the same artifact

The network finds X - B and A, and B is added again. Models for images of scanners do that (`last` is
`trace_correction`). In the benchmark's protocol, where X was never scanned and Y was, the bone of both differs, and
scores get worse by it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from acdnet.model.acdnet import Decomposition
from acdnet.units import HU_CEILING, hu_from_network, network_from_hu

Image = NDArray[np.float32]

EDGE_HU = 100.0
"""How near to the upper end of the range an image counts as metal."""
DENSE_HU = 600.0
"""Bone above this is set aside. Chosen on phantoms; on patients' trunks nothing changes by it."""


def to_network(hu: Image) -> Tensor:
    """Bring a slice in HU, H x W, to the network: 1 x 1 x H x W, clipped to [0, 255]."""
    return torch.from_numpy(np.asarray(network_from_hu(hu), dtype=np.float32))[None, None]


def to_hu(image: Tensor) -> Image:
    """Bring an image of the network, H x W in its last two axes, back to a slice in HU."""
    hu: Image = hu_from_network(image.detach().cpu()).numpy()
    return hu.reshape(hu.shape[-2:])


def clip_to_range(hu: Image) -> Image:
    """Clip a slice in HU to the range of the network."""
    return to_hu(to_network(hu))


def above_range(hu: Image, X: Image) -> Image:
    """Return what of a slice lies above the range of the network, where the network's image X ends there, too.

    Metal that nobody found thus keeps its values. A bright streak that became tissue does not.
    """
    return np.where(X > HU_CEILING - EDGE_HU, np.maximum(hu - HU_CEILING, 0.0), 0.0).astype(np.float32)


def dense_bone(Y: Tensor, X1: Tensor, I: Tensor) -> Tensor:
    """Return B, what is denser than DENSE_HU in both images, outside metal; in network units."""
    agreed, least = torch.minimum(Y, X1) - (Y - X1).abs(), network_from_hu(torch.tensor(DENSE_HU))
    return torch.where(I, (agreed - least).clamp(min=0.0), 0.0)


def with_bone(found: Decomposition, B: Tensor) -> Decomposition:
    """Add the bone that was set aside to all images of a decomposition."""
    return replace(
        found,
        image=found.image + B,
        images=tuple(X + B for X in found.images),
        start_images=(found.start_images[0] + B, found.start_images[1] + B),
    )
