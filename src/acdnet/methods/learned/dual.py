r"""The dual-domain networks: DuDoNet, DSCMAR and DuDoNet++. `trace` is 1 for rays through metal.

DuDoNet     S = trace . f(S_LI, trace) + (1 - trace) . S_LI     X = X_LI + g(FBP(S), X_LI)
DuDoNet++   S = trace . f(S_Y, path)   + (1 - trace) . S_Y      X = FBP(S) + g(FBP(S), Y, metal)
DSCMAR      X' = X_LI + g(Y, X_LI)
            S = trace . (P X' + f(S_LI - P X', trace)) + (1 - trace) . S_Y      X = FBP(S)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from acdnet.config import DSCMARConfig, DualConfig, DuDoNetConfig, DuDoNetPlusConfig
from acdnet.methods.learned.image_net import ImageNet, ThreeImageNet
from acdnet.methods.learned.observed import Observed
from acdnet.methods.learned.sinogram_net import SinogramNet


class DualResult(NamedTuple):
    """The output of a dual-domain network, with the intermediate results of its loss."""

    image: Tensor
    sinogram: Tensor
    between: Tensor
    """The image of the other network: the reconstruction of the sinogram, or the prior."""


class DualNetwork(nn.Module, ABC):
    """A network in each domain; subclasses define their inputs and order."""

    periodic = False
    """Whether the sinogram network continues the last view with the first."""
    image_network: type[ImageNet] = ImageNet

    def __init__(self, config: DualConfig) -> None:
        super().__init__()
        self.config = config
        self.sinogram_net = SinogramNet(config, self.periodic)
        self.image_net = self.image_network(config)

    @abstractmethod
    def forward(self, o: Observed) -> DualResult:
        """Reduce a slice."""


class DuDoNet(DualNetwork):
    """Dual domain network (Lin et al. 2019)."""

    def forward(self, o: Observed) -> DualResult:
        S = torch.where(o.trace > 0, self.sinogram_net(o.S_li, o.trace), o.S_li)
        between = o.reconstruct(S)
        image = o.X_li + self.image_net(torch.cat((between, o.X_li), 1))
        return DualResult(image, S, between)


class DSCMAR(DualNetwork):
    """Deep sinogram completion with an image prior (Yu et al. 2020)."""

    def forward(self, o: Observed) -> DualResult:
        prior = o.X_li + self.image_net(torch.cat((o.Y, o.X_li), 1))
        S_prior = o.project(prior)
        completed = S_prior + self.sinogram_net(o.S_li - S_prior, o.trace)
        S = torch.where(o.trace > 0, completed, o.S)
        return DualResult(o.reconstruct(S), S, prior)


class DuDoNetPlus(DualNetwork):
    """DuDoNet++: encoding the metal mask projection (Lyu et al. 2020)."""

    periodic = True
    image_network = ThreeImageNet

    def forward(self, o: Observed) -> DualResult:
        S = torch.where(o.trace > 0, self.sinogram_net(o.S, o.path), o.S)
        between = o.reconstruct(S)
        image = between + self.image_net(torch.cat((between, o.Y, 1 - o.I), 1))
        return DualResult(image, S, between)


DUAL: dict[type[DualConfig], type[DualNetwork]] = {
    DuDoNetConfig: DuDoNet,
    DSCMARConfig: DSCMAR,
    DuDoNetPlusConfig: DuDoNetPlus,
}
"""The network of each config."""


def make_dual(config: DualConfig) -> DualNetwork:
    """Build the network of a config, with random weights."""
    return DUAL[type(config)](config)
