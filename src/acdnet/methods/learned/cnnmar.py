"""The network of CNNMAR (Zhang and Yu 2018): a few 3 x 3 convolutions over three images."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional as F

from acdnet.config import CNNMARConfig


class CNNMAR(nn.Module):
    """Map B x 3 x H x W (uncorrected, BHC, LI; 1/cm) to B x 1 x H x W."""

    def __init__(self, config: CNNMARConfig) -> None:
        super().__init__()
        self.config = config
        channels = [3, *[config.width] * (config.layers - 1), 1]
        self.layers = nn.ModuleList(nn.Conv2d(before, after, 3, padding=1) for before, after in pairwise(channels))

    def forward(self, images: Tensor) -> Tensor:
        x = images
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        out: Tensor = self.layers[-1](x)
        return out
