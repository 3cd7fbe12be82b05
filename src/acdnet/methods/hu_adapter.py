"""Slices in HU to network units and back, and the dense bone that is set aside.

Networks trained on trunks have seen little bone as dense as jaws and skulls and mistake it for artifact. Bone that is
certain can be set aside, because the artifact is additive. With the image X1 from which the network starts, and I = 1
outside metal,

    B = I . max(min(Y, X1) - |Y - X1| - DENSE, 0)     bone denser than DENSE, where both images agree
    Y - B = (X - B) + A                               is the same model of the same artifact

The network finds X - B and A, and B is added again. Only models of the clinical protocol do this (`last` is
`trace_correction`). In the benchmark's protocol it lowers the scores: Y is a reconstruction and X is not, so their bone
differs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from acdnet.model.acdnet import Decomposition
from acdnet.units import HU_CEILING, Image, hu_from_network, network_from_hu

EDGE_HU = 100.0
"""Distance from the upper end of the range within which an image counts as metal."""
DENSE_HU = 600.0
"""Bone above this is set aside. Chosen on phantoms; it has no effect on trunks of patients."""


def to_network(hu: Image) -> Tensor:
    """Convert a slice in HU, H x W, to network units, 1 x 1 x H x W, clipped to [0, 255]."""
    return torch.from_numpy(np.asarray(network_from_hu(hu), dtype=np.float32))[None, None]


def to_hu(image: Tensor) -> Image:
    """Convert an image in network units, ... x H x W, to a slice in HU."""
    hu: Image = hu_from_network(image.detach().cpu()).numpy()
    return hu.reshape(hu.shape[-2:])


def clip_to_range(hu: Image) -> Image:
    """Clip a slice in HU to the range of the network."""
    return to_hu(to_network(hu))


def above_range(hu: Image, X: Image) -> Image:
    """Return the part of a slice above the range of the network, where the network's image X also reaches its limit.

    Undetected metal thus keeps its values, but a bright streak that became tissue does not.
    """
    return np.where(X > HU_CEILING - EDGE_HU, np.maximum(hu - HU_CEILING, 0.0), 0.0).astype(np.float32)


def dense_bone(Y: Tensor, X1: Tensor, I: Tensor) -> Tensor:
    """Return B, the bone above DENSE_HU in both images and outside metal, in network units."""
    agreed, least = torch.minimum(Y, X1) - (Y - X1).abs(), network_from_hu(torch.tensor(DENSE_HU))
    return torch.where(I, (agreed - least).clamp(min=0.0), 0.0)


def with_bone(found: Decomposition, B: Tensor) -> Decomposition:
    """Add the bone B to all images of a decomposition."""
    return replace(
        found,
        image=found.image + B,
        images=tuple(X + B for X in found.images),
        start_images=(found.start_images[0] + B, found.start_images[1] + B),
    )
