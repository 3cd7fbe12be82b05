"""Small networks and inputs for tests."""

from __future__ import annotations

import torch

from acdnet.config import ACDNetConfig
from acdnet.model.acdnet import ACDNet

SMALL = ACDNetConfig(T=2, N=3, d=4, p=5, N_p=4, blocks=2)


def make_model(config: ACDNetConfig = SMALL, seed: int = 0) -> ACDNet:
    """Build a network with weights and running statistics that are not trivial, in evaluation mode."""
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = ACDNet(config)
    with torch.no_grad():
        for name, value in model.state_dict().items():
            if "running_mean" in name:
                value.copy_(torch.randn(value.shape, generator=generator) * 0.3)
            elif "running_var" in name:
                value.copy_(torch.rand(value.shape, generator=generator) + 0.5)
            elif "prox" in name and value.is_floating_point():
                value.add_(torch.randn(value.shape, generator=generator) * 0.01)
    return model.eval()


def make_input(B: int, H: int, W: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Make Y, X_li and I in network units; every sample is different and has metal."""
    generator = torch.Generator().manual_seed(seed)
    Y = 100 * torch.rand(B, 1, H, W, generator=generator)
    X_li = 100 * torch.rand(B, 1, H, W, generator=generator)
    I = torch.rand(B, 1, H, W, generator=generator) > 0.1
    return Y, X_li, I
