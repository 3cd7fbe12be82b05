"""The self-test: a loaded model must reproduce its result for a fixed input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from acdnet.model.acdnet import ACDNet
from acdnet.units import NETWORK_RANGE, WATER_MU, hu_from_network

if TYPE_CHECKING:
    from acdnet.methods.learned.cnnmar import CNNMAR
    from acdnet.methods.learned.dual import DualNetwork
    from acdnet.methods.learned.localiser import Localiser
    from acdnet.weights.networks import Network

KEY = "selftest.image"
"""Name of the stored result among the weights."""

SIZE = 64
METAL_HU = 6000.0
TOLERANCE = 1e-4 * NETWORK_RANGE
"""In network units. Processors round differently; damaged models differ far more."""


@torch.no_grad()
def selftest(model: Network) -> Tensor:
    """Run a network in evaluation mode on the fixed input; SIZE x SIZE, network units."""
    Y, X_li, I = _fixed_input()
    if isinstance(model, ACDNet):
        image: Tensor = model(Y[None, None], X_li[None, None], I[None, None]).image
        return image[0, 0]
    return _run_other(model, Y, X_li, I)


def _fixed_input() -> tuple[Tensor, Tensor, Tensor]:
    y, x = torch.meshgrid(torch.linspace(-1, 1, SIZE), torch.linspace(-1, 1, SIZE), indexing="ij")
    water = WATER_MU * NETWORK_RANGE
    body = torch.where(x**2 + (y / 0.8) ** 2 < 0.8, water, 0.0)
    streaks = 12 * torch.sin(9 * x + 23 * y) * torch.exp(-4 * (x - 0.2 * y) ** 2)
    I = (x - 0.2) ** 2 + (y + 0.1) ** 2 > 0.02
    Y, X_li = (body + streaks).clamp(0, NETWORK_RANGE), (body + 0.3 * streaks.roll(3, 0)).clamp(0, NETWORK_RANGE)
    return Y, X_li, I


def _run_other(model: CNNMAR | DualNetwork | Localiser, Y: Tensor, X_li: Tensor, I: Tensor) -> Tensor:
    """Run a network of another kind on the same slice, in a small geometry."""
    from acdnet.methods.learned.clues import clues
    from acdnet.methods.learned.cnnmar import CNNMAR
    from acdnet.methods.learned.localiser import Localiser
    from acdnet.methods.learned.observed import observe
    from acdnet.physics.geometry import FanBeam
    from acdnet.physics.measurement import Measurement

    if isinstance(model, Localiser):
        hu = hu_from_network(Y).numpy().astype(np.float32)
        hu[I.numpy() == 0] = METAL_HU
        return torch.sigmoid(model(clues([None, hu, hu], 2.0)[None]))[0, 0] * NETWORK_RANGE
    if isinstance(model, CNNMAR):
        images = torch.stack((Y, 0.5 * (Y + X_li), X_li)) / NETWORK_RANGE
        found: Tensor = model(images[None])[0, 0] * NETWORK_RANGE
        return found
    scanner = FanBeam(SIZE, pixel_cm=0.2, views=64, bins=97, bin_cm=0.35, source_cm=50.0, detector_cm=50.0)
    measured = Measurement.of_square(hu_from_network(Y).numpy(), ~I.numpy(), scanner)
    image: Tensor = model(observe(measured, hu_from_network(X_li).numpy())).image
    return image[0, 0] * (WATER_MU * NETWORK_RANGE)
