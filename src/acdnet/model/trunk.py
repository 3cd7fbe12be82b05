"""The trunk of a proximal network: residual blocks x <- relu(x + f(x)) with f = conv, BN, ReLU, conv, BN.

A block may work on a coarser grid, x <- relu(x + up(f(down(x)))): it sees further, at less cost. The paper's do not.

`ResidualBlock.forward` says what is computed. For training on CPUs, where batch normalisation of images stored channels
last is slow, `acdnet.model.trunk_cpu` computes the same for a whole trunk, with its gradient written out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from acdnet.model.ranks import ranks
from acdnet.model.trunk_cpu import EPS, How, TrainingTrunk

Module = TypeVar("Module", bound=nn.Module)


def channels_last(module: Module) -> Module:
    """Store the weights of convolutions in the layout that CPUs and GPUs convolve fastest in."""
    module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return module


def down(x: Tensor, factor: int) -> Tensor:
    """Average over squares of pixels; those at the edge may be cut off."""
    if factor == 1:
        return x
    cut_off = any(side % factor for side in x.shape[-2:])
    return F.avg_pool2d(x, factor, ceil_mode=cut_off, count_include_pad=False)


def up(x: Tensor, factor: int, like: Tensor) -> Tensor:
    """Interpolate to pixels `factor` times smaller, as many as `like` has."""
    if factor == 1:
        return x
    fine = F.interpolate(x, scale_factor=factor, mode="bilinear", align_corners=False)
    return fine if fine.shape == like.shape else fine[..., : like.shape[-2], : like.shape[-1]]


class ResidualBlock(nn.Module):
    """One residual block, B x channels x H x W to the same.

    f may work on pixels `factor` times as wide; it then has as many times the channels, at a `factor`-th of the cost.
    """

    def __init__(self, channels: int, factor: int = 1) -> None:
        super().__init__()
        self.factor = factor
        self.conv1 = nn.Conv2d(channels, factor * channels, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(factor * channels)
        self.conv2 = nn.Conv2d(factor * channels, channels, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        f = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(down(x, self.factor))))))
        return F.relu(x + up(f, self.factor, x))


class Trunk(nn.Sequential):
    """A chain of residual blocks; if wanted, `coarse` more on pixels 2, 4, 8 .. times as wide.

    Training on a CPU takes the fast way unless `fast_on_cpu` is unset. With `frugal` set, that way keeps only the input
    of the trunk for the way back and computes the rest anew: half the memory for a little more time. With `short` set,
    it convolves numbers of half the length (bfloat16): faster on CPUs that know them.
    """

    fast_on_cpu = True
    frugal = False
    short = False

    def __init__(self, channels: int, blocks: int, coarse: int = 0) -> None:
        factors = [1] * blocks + [2**b for b in range(1, coarse + 1)]
        super().__init__(*(ResidualBlock(channels, factor) for factor in factors))

    def forward(self, x: Tensor) -> Tensor:
        if self.training and self.fast_on_cpu and x.device.type == "cpu":
            if self._is_plain():
                return self._train_on_cpu(x)
            if self._is_fixed():
                return self._train_fixed(x)
        for block in self:
            x = block(x)
        return x

    def _is_plain(self) -> bool:
        """Tell whether all is as the fast way takes it: no frozen normalisation, no settings of its own."""
        norms = [norm for b in self.blocks() for norm in (b.norm1, b.norm2)]
        return all(norm.training and norm.eps == EPS and norm.momentum is not None for norm in norms)

    def _is_fixed(self) -> bool:
        """Tell whether all statistics are fixed, as in evaluation."""
        return not any(norm.training for b in self.blocks() for norm in (b.norm1, b.norm2))

    def _train_fixed(self, x: Tensor) -> Tensor:
        """Run blocks whose normalisation is fixed, and so can be folded into the convolutions, as for inference."""
        dtype = torch.bfloat16 if self.short else x.dtype
        x = x.contiguous(memory_format=torch.channels_last)
        if self.frugal:
            again: Tensor = checkpoint(self._fixed_blocks, x, dtype, use_reentrant=False)
            return again
        return self._fixed_blocks(x, dtype)

    def _fixed_blocks(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        for b in self.blocks():
            inner = _convolve(b.conv1, b.norm1, down(x, b.factor).to(dtype)).relu_()
            x = F.relu(x + up(_convolve(b.conv2, b.norm2, inner).to(x.dtype), b.factor, x))
        return x

    def _train_on_cpu(self, x: Tensor) -> Tensor:
        for factor, together in groupby(self.blocks(), key=lambda block: block.factor):
            if factor == 1:
                x = self._chain(x, list(together), residual=True)
                continue
            for block in together:
                f = self._chain(down(x, factor), [block], residual=False)
                x = F.relu(x + up(f, factor, x))
        return x

    def _chain(self, x: Tensor, blocks: list[ResidualBlock], residual: bool) -> Tensor:
        """Run blocks, or with `residual` unset what they add, by `TrainingTrunk`."""
        layers = [layer for b in blocks for layer in (b.conv1, b.norm1, b.conv2, b.norm2)]
        weights = [weight for layer in layers for weight in (layer.weight, layer.bias)]
        norms = [norm for b in blocks for norm in (b.norm1, b.norm2)]
        y: Tensor
        y, *moments = TrainingTrunk.apply(x, How(self.frugal, self.short, residual), *weights)  # type: ignore[no-untyped-call]
        for norm, mean, var in zip(norms, moments[::2], moments[1::2], strict=True):
            _update_running(norm, mean, var, pixels=x.numel() // x.shape[1] * ranks())
        return y

    def blocks(self) -> Iterator[ResidualBlock]:
        """Go through the blocks."""
        for block in self:
            assert isinstance(block, ResidualBlock)
            yield block


def _convolve(conv: nn.Conv2d, norm: nn.BatchNorm2d, x: Tensor) -> Tensor:
    """Convolve and normalise by fixed statistics at once; the gradient reaches the weights of both."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert conv.bias is not None
    scale = norm.weight * (norm.running_var + norm.eps).rsqrt()
    weight = conv.weight * scale[:, None, None, None]
    bias = norm.bias + (conv.bias - norm.running_mean) * scale
    return F.conv2d(x, weight.to(x.dtype), bias.to(x.dtype), padding=1)


@torch.no_grad()
def _update_running(norm: nn.BatchNorm2d, mean: Tensor, var: Tensor, pixels: int) -> None:
    """Move the running statistics of evaluation mode, as `nn.BatchNorm2d` does."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert norm.num_batches_tracked is not None
    assert norm.momentum is not None
    norm.running_mean.lerp_(mean, norm.momentum)
    norm.running_var.lerp_(var * (pixels / max(1, pixels - 1)), norm.momentum)
    norm.num_batches_tracked += 1
