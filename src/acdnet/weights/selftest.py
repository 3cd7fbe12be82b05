"""A fixed input and what a model made of it when it was saved: the last check before a loaded model is trusted."""

from __future__ import annotations

import torch
from torch import Tensor

from acdnet.model.acdnet import ACDNet
from acdnet.units import NETWORK_RANGE, WATER_MU

KEY = "selftest.image"
"""Name of the stored answer among the weights."""

SIZE = 64
TOLERANCE = 1e-4 * NETWORK_RANGE
"""Processors round differently; a damaged model is off by far more."""


@torch.no_grad()
def selftest(model: ACDNet) -> Tensor:
    """Run the plain network, which has to be in evaluation mode, on the fixed input; SIZE x SIZE."""
    y, x = torch.meshgrid(torch.linspace(-1, 1, SIZE), torch.linspace(-1, 1, SIZE), indexing="ij")
    water = WATER_MU * NETWORK_RANGE
    body = torch.where(x**2 + (y / 0.8) ** 2 < 0.8, water, 0.0)
    streaks = 12 * torch.sin(9 * x + 23 * y) * torch.exp(-4 * (x - 0.2 * y) ** 2)
    I = (x - 0.2) ** 2 + (y + 0.1) ** 2 > 0.02
    Y, X_li = (body + streaks).clamp(0, NETWORK_RANGE), (body + 0.3 * streaks.roll(3, 0)).clamp(0, NETWORK_RANGE)
    image: Tensor = model(Y[None, None], X_li[None, None], I[None, None]).image
    return image[0, 0]
