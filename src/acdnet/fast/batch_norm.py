"""Batch normalisation in training on CPUs, with its gradient written out.

Images stored channels last are seen as matrices, pixels x channels, on which normalisation is a few fast passes; torch
needs several times as long for this layout. Steps that follow a normalisation are computed with it and keep as little
as possible for the gradient.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F


def applies(norm: nn.BatchNorm2d, x: Tensor) -> bool:
    """Return whether this module computes a normalisation: batch statistics of one process on a CPU."""
    plain = type(norm) is nn.BatchNorm2d and norm.momentum is not None
    return plain and norm.training and x.device.type == "cpu"


def normalised_sum_relu(z: Tensor, norm: nn.BatchNorm2d, x: Tensor) -> Tensor:
    """Return relu(x + BN(z))."""
    y, mean, var = _NormaliseSumRelu.apply(z, norm.weight, norm.bias, norm.eps, x)  # type: ignore[no-untyped-call]
    _update(norm, mean, var, z)
    return y  # type: ignore[no-any-return]


def normalised_relu_conv(z: Tensor, norm: nn.BatchNorm2d, weight: Tensor, bias: Tensor) -> Tensor:
    """Normalise, rectify and convolve with 3 x 3 kernels, in the precision of `weight`."""
    y, mean, var = _NormaliseReluConv.apply(z, norm.weight, norm.bias, norm.eps, weight, bias)  # type: ignore[no-untyped-call]
    _update(norm, mean, var, z)
    return y  # type: ignore[no-any-return]


class _NormaliseSumRelu(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, z: Tensor, gamma: Tensor, beta: Tensor, eps: float, x: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        z = z.contiguous(memory_format=torch.channels_last)
        mean, var = _moments(z)
        rstd = (var + eps).rsqrt()
        y = _scaled(z, gamma, beta, mean, rstd).add_(x).relu_()
        ctx.save_for_backward(z, gamma, mean, rstd, y)
        ctx.mark_non_differentiable(mean, var)
        return y, mean, var

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        z, gamma, mean, rstd, y = ctx.saved_tensors
        grad_sum = torch.ops.aten.threshold_backward(grad, y, 0)
        return *_gradients(grad_sum, z, gamma, mean, rstd), None, grad_sum


class _NormaliseReluConv(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, z: Tensor, gamma: Tensor, beta: Tensor, eps: float, weight: Tensor, bias: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        z = z.contiguous(memory_format=torch.channels_last)
        mean, var = _moments(z)
        rstd = (var + eps).rsqrt()
        a = _scaled(z, gamma, beta, mean, rstd).relu_().to(weight.dtype)
        ctx.save_for_backward(z, gamma, beta, mean, rstd, weight)
        ctx.mark_non_differentiable(mean, var)
        return F.conv2d(a, weight, bias, padding=1).to(z.dtype), mean, var

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        z, gamma, beta, mean, rstd, weight = ctx.saved_tensors
        a = _scaled(z, gamma, beta, mean, rstd).relu_()
        grad_a, grad_weight, _ = torch.ops.aten.convolution_backward(
            grad.to(weight.dtype), a.to(weight.dtype), weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1,
            [True, True, False],
        )  # fmt: skip
        grad_scaled = torch.ops.aten.threshold_backward(grad_a.to(z.dtype), a, 0)
        grads = _gradients(grad_scaled, z, gamma, mean, rstd)
        return *grads, None, grad_weight, torch.zeros_like(grad_weight[:, 0, 0, 0])


def _matrix(image: Tensor) -> Tensor:
    """View an image stored channels last as a matrix, pixels x channels."""
    return image.permute(0, 2, 3, 1).reshape(-1, image.shape[1])


def _sum_pixels(matrix: Tensor) -> Tensor:
    """Sum over the pixels; CPUs sum long rows of several pixels fastest."""
    pixels, channels = matrix.shape
    together = math.gcd(pixels, 64)
    return matrix.reshape(-1, together * channels).sum(dim=0).view(together, channels).sum(dim=0)


def _moments(z: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and variance of the channels."""
    matrix = _matrix(z)
    mean = _sum_pixels(matrix) / len(matrix)
    return mean, _sum_pixels((matrix - mean).square_()) / len(matrix)


def _scaled(z: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, rstd: Tensor) -> Tensor:
    """Compute gamma (z - mean) / std + beta as one scale and one shift per channel."""
    scale = gamma * rstd
    return torch.addcmul((beta - mean * scale)[:, None, None], z, scale[:, None, None])


def _gradients(grad: Tensor, z: Tensor, gamma: Tensor, mean: Tensor, rstd: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients in z, gamma and beta."""
    g = _matrix(grad.contiguous(memory_format=torch.channels_last))
    normal = torch.addcmul(-mean * rstd, _matrix(z), rstd)
    beta_grad, gamma_grad = _sum_pixels(g), _sum_pixels(g * normal)
    through = torch.addcmul(beta_grad / len(g), normal, gamma_grad / len(g), out=normal)
    torch.sub(g, through, out=through).mul_(gamma * rstd)
    B, C, H, W = z.shape
    return through.view(B, H, W, C).permute(0, 3, 1, 2), gamma_grad, beta_grad


@torch.no_grad()
def _update(norm: nn.BatchNorm2d, mean: Tensor, var: Tensor, z: Tensor) -> None:
    """Update the running statistics as torch does."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert norm.num_batches_tracked is not None
    assert norm.momentum is not None
    pixels = z.numel() // z.shape[1]
    norm.running_mean.lerp_(mean, norm.momentum)
    norm.running_var.lerp_(var * (pixels / max(1, pixels - 1)), norm.momentum)
    norm.num_batches_tracked += 1
