"""A network prepared for inference: batch normalisation folded, best memory layout, no gradients.

`ACDNetMethod` uses `InferenceACDNet` for all images. The equations stay in `model`; only the proximal networks of X and
M are replaced by faster equivalents.
"""

from __future__ import annotations

import copy
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from acdnet.fast import winograd
from acdnet.fast.replace import replace_modules
from acdnet.fast.small_conv import PlanarTrunk
from acdnet.fast.upsample_add import add_up_
from acdnet.model.acdnet import ACDNet, Decomposition, join
from acdnet.model.prox import ProxM, ProxX
from acdnet.model.residual import ResidualBlock, channels_last, down, up

SIMD_LANES = 16
"""Channels that fill one vector register of a CPU."""

TOLERATED_WASTE = 0.2
"""Empty lanes per channel up to which direct convolution is faster than Winograd's algorithm."""


class FoldedBlock(nn.Module):
    """`ResidualBlock` in evaluation mode: two convolutions with folded normalisation."""

    def __init__(self, block: ResidualBlock) -> None:
        super().__init__()
        self.factor = block.factor
        self.conv1 = fuse_conv_bn_eval(block.conv1, block.norm1)
        self.conv2 = fuse_conv_bn_eval(block.conv2, block.norm2)

    def forward(self, x: Tensor) -> Tensor:
        f: Tensor = self.conv2(self.conv1(down(x, self.factor)).relu_())
        return up(f, self.factor, x).add_(x).relu_()


class InPlaceBlock(FoldedBlock):
    """`FoldedBlock` on a CPU; overwrites its input."""

    def forward(self, x: Tensor) -> Tensor:
        return add_up_(x, self.conv2(self.conv1(down(x, self.factor)).relu_()), self.factor)


class JoinedProxX(nn.Module):
    """`ProxX` with folded blocks, channels last. X and P share one tensor between calls; X is replaced in it."""

    def __init__(self, prox: ProxX) -> None:
        super().__init__()
        self.channels = next(prox.trunk.blocks()).conv1.in_channels
        folded = InPlaceBlock if _on_cpu(prox) else FoldedBlock
        self.trunk = channels_last(nn.Sequential(*(folded(block) for block in prox.trunk.blocks())))

    def forward(self, X: Tensor, P: Tensor) -> tuple[Tensor, Tensor]:
        B, channels, H, W = P.shape
        joined = P
        if channels < self.channels:
            shape = (B, self.channels, H, W)
            joined = torch.empty(shape, dtype=P.dtype, device=P.device, memory_format=torch.channels_last)
            joined[:, 1:] = P
        joined[:, :1] = X
        out = self.trunk(joined)
        return out[:, :1].clone(), out


class WinogradProxX(nn.Module):
    """`ProxX` of one image on a CPU. X and P stay in the layout of `winograd` between calls."""

    def __init__(self, prox: ProxX) -> None:
        super().__init__()
        folded = [FoldedBlock(block) for block in prox.trunk.blocks()]
        self.trunk = winograd.WinogradTrunk([(block.conv1, block.conv2) for block in folded])

    def forward(self, X: Tensor, P: Tensor) -> tuple[Tensor, Tensor]:
        H, W = X.shape[-2:]
        packed = winograd.pack(torch.cat((X, P), dim=1)[0]) if P.dim() == 4 else P
        packed[:1] = winograd.pack(X[0])
        self.trunk(packed, H, W)
        return winograd.unpack(packed[:1], H, W)[None], packed


class PlanarProxM(nn.Module):
    """`ProxM` of one image on a CPU."""

    def __init__(self, prox: ProxM) -> None:
        super().__init__()
        folded = [FoldedBlock(block) for block in prox.trunk.blocks()]
        self.trunk = PlanarTrunk([(block.conv1, block.conv2) for block in folded])
        self.tau = prox.tau

    def forward(self, M: Tensor) -> Tensor:
        return (self.trunk(M) - self.tau).relu_()


class InferenceACDNet(nn.Module):
    """A trained ACDNet for inference on the device of the original model; it cannot be trained or moved.

    On a CPU, the images of a batch are processed one by one, which limits the memory.
    """

    def __init__(self, model: ACDNet) -> None:
        super().__init__()
        self.config = model.config
        self.network = copy.deepcopy(model).eval().requires_grad_(False)
        self.one_by_one = _on_cpu(model)
        replace_modules(self.network, ProxX, WinogradProxX if self.one_by_one and _wastes_lanes(model) else JoinedProxX)
        if self.one_by_one:
            replace_modules(self.network, ProxM, PlanarProxM)
        fold(self.network)

    def train(self, mode: bool = True) -> InferenceACDNet:  # noqa: ARG002
        """Stay in evaluation mode, the only mode."""
        return self

    def _apply(self, *_: Any, **__: Any) -> InferenceACDNet:
        raise TypeError("a network for inference cannot be moved; move the ACDNet before converting it")

    @torch.inference_mode()
    def forward(self, Y: Tensor, X_li: Tensor, I: Tensor, details: bool = False) -> Decomposition:
        self.network.check_inputs(Y, X_li, I)
        if not self.one_by_one:
            return cast(Decomposition, self.network(Y, X_li, I, details))
        return join([self.network(*one, details) for one in zip(Y.split(1), X_li.split(1), I.split(1), strict=True)])


def fold(network: ACDNet) -> ACDNet:
    """Fold the batch normalisation of all residual blocks, in place."""
    replace_modules(network, ResidualBlock, FoldedBlock)
    return network


def _on_cpu(module: nn.Module) -> bool:
    return next(module.parameters()).device.type == "cpu"


def _wastes_lanes(model: ACDNet) -> bool:
    """Tell whether direct convolution would leave many lanes empty, as 33 channels in 3 x 16 lanes do.

    The Winograd trunk supports no coarser grids.
    """
    channels = 1 + model.config.N_p
    return model.config.coarse == 0 and -channels % SIMD_LANES > channels * TOLERATED_WASTE
