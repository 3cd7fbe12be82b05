"""A trunk of residual blocks in training mode on a CPU: forward and backward written out.

Images are stored channels last and seen as matrices, pixels x channels, on which batch normalisation is a handful of
fast passes. The tests hold it against autograd of the plain statement in `acdnet.model.trunk`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from acdnet.model.ranks import ranks, sum_over_ranks

EPS = 1e-5
"""Added to the variance, as `nn.BatchNorm2d` does by default."""

PER_BLOCK = 8
"""Weights of one block."""


class Weights(NamedTuple):
    """The weights of one block: convolution, normalisation, convolution, normalisation."""

    w1: Tensor
    b1: Tensor
    gamma1: Tensor
    beta1: Tensor
    w2: Tensor
    b2: Tensor
    gamma2: Tensor
    beta2: Tensor


class Moments(NamedTuple):
    """Mean and variance of the channels of an image over the batch and all pixels."""

    mean: Tensor
    var: Tensor


class Passed(NamedTuple):
    """What one block computes on the way forward: after the convolutions, and its output."""

    z1: Tensor
    z2: Tensor
    y: Tensor


class How(NamedTuple):
    """How a trunk is computed."""

    frugal: bool = False
    """Keep only the input of the trunk for the way back, and compute the rest anew."""
    short: bool = False
    """Convolve numbers of half the length (bfloat16); everything between two convolutions stays as it is."""
    residual: bool = True
    """Give relu(x + f(x)) of a block, not f(x)."""


class TrainingTrunk(torch.autograd.Function):
    """(x, how, weights of all blocks) -> (y, means and variances of all normalisations)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, how: How, *flat: Tensor) -> tuple[Tensor, ...]:
        blocks = _by_block(flat)
        x = x.contiguous(memory_format=torch.channels_last)
        kept: list[Tensor] = []
        moments: list[Moments] = []
        y = x
        for weights in blocks:
            passed, found = block_forward(y, weights, how)
            y = passed.y
            moments += found
            if not how.frugal:
                kept += passed
        flat_moments = [tensor for pair in moments for tensor in pair]
        ctx.counts = len(flat), len(flat_moments)
        ctx.how = how
        ctx.save_for_backward(x, *flat, *flat_moments, *kept)
        ctx.mark_non_differentiable(*flat_moments)
        return y, *flat_moments

    @staticmethod
    @once_differentiable  # it works in place
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        x, *rest = ctx.saved_tensors
        weights_end, moments_end = ctx.counts[0], sum(ctx.counts)
        blocks = _by_block(rest[:weights_end])
        moments = [Moments(*pair) for pair in zip(*[iter(rest[weights_end:moments_end])] * 2, strict=True)]
        passed = [Passed(*three) for three in zip(*[iter(rest[moments_end:])] * 3, strict=True)]
        passed = passed or _pass_again(x, blocks, ctx.how, moments)

        grad = grad.contiguous(memory_format=torch.channels_last)
        grads: list[Tensor] = []
        for k in reversed(range(len(blocks))):
            entered = passed[k - 1].y if k else x
            found = moments[2 * k], moments[2 * k + 1]
            grad, of_weights = block_backward(grad, entered, passed[k], blocks[k], found, ctx.how)
            grads[:0] = of_weights
        return grad, None, *grads


def block_forward(x: Tensor, w: Weights, how: How, known: list[Moments] | None = None) -> tuple[Passed, list[Moments]]:
    """Run one block; `known` moments are used instead of found ones."""
    z1 = _convolve(x, w.w1, w.b1, how.short)
    m1 = known[0] if known else _moments(z1)
    a1 = _normalise(z1, m1, w.gamma1, w.beta1).relu_()
    z2 = _convolve(a1, w.w2, w.b2, how.short)
    m2 = known[1] if known else _moments(z2)
    y = _normalise(z2, m2, w.gamma2, w.beta2)
    if how.residual:
        y = y.add_(x).relu_()
    return Passed(z1, z2, y), [m1, m2]


def block_backward(
    grad_y: Tensor, x: Tensor, passed: Passed, w: Weights, moments: tuple[Moments, Moments], how: How
) -> tuple[Tensor, Weights]:
    """Return the gradients of one block in its input and in its weights."""
    m1, m2 = moments
    grad_sum = _unrectify(grad_y, passed.y) if how.residual else grad_y
    grad_z2, gamma2, beta2 = _unnormalise(grad_sum, passed.z2, m2, w.gamma2)
    a1 = _normalise(passed.z1, m1, w.gamma1, w.beta1).relu_()
    grad_a1, w2 = _unconvolve(grad_z2, a1, w.w2, how.short)
    grad_z1, gamma1, beta1 = _unnormalise(_unrectify(grad_a1, a1), passed.z1, m1, w.gamma1)
    grad_x, w1 = _unconvolve(grad_z1, x, w.w1, how.short)
    bias1, bias2 = (torch.zeros_like(beta) for beta in (beta1, beta2))  # before a normalisation they have no effect
    grad_x = grad_x.add_(grad_sum) if how.residual else grad_x
    return grad_x, Weights(w1, bias1, gamma1, beta1, w2, bias2, gamma2, beta2)


def _by_block(flat: tuple[Tensor, ...] | list[Tensor]) -> list[Weights]:
    return [Weights(*flat[k : k + PER_BLOCK]) for k in range(0, len(flat), PER_BLOCK)]


def _pass_again(x: Tensor, blocks: list[Weights], how: How, moments: list[Moments]) -> list[Passed]:
    """Compute anew what the way forward did not keep."""
    passed = []
    for k, weights in enumerate(blocks):
        again, _ = block_forward(x, weights, how, moments[2 * k : 2 * k + 2])
        passed.append(again)
        x = again.y
    return passed


def _matrix(image: Tensor) -> Tensor:
    """See an image stored channels last as a matrix, pixels x channels."""
    return image.permute(0, 2, 3, 1).reshape(-1, image.shape[1])


def _sum_pixels(matrix: Tensor) -> Tensor:
    """Sum over the pixels; long rows, of several pixels each, are what a CPU sums fastest."""
    pixels, channels = matrix.shape
    together = math.gcd(pixels, 64)
    return matrix.reshape(-1, together * channels).sum(dim=0).view(together, channels).sum(dim=0)


def _moments(z: Tensor) -> Moments:
    """Measure the whole batch, on all processes."""
    matrix = _matrix(z)
    pixels = len(matrix) * ranks()
    mean = sum_over_ranks(_sum_pixels(matrix)) / pixels
    return Moments(mean, sum_over_ranks(_sum_pixels((matrix - mean).square_())) / pixels)


def _normalise(z: Tensor, m: Moments, gamma: Tensor, beta: Tensor) -> Tensor:
    """Compute gamma (z - mean) / std + beta, as one scale and one shift per channel."""
    scale = gamma * (m.var + EPS).rsqrt()
    shift = beta - m.mean * scale
    return torch.addcmul(shift[:, None, None], z, scale[:, None, None])


def _unnormalise(grad: Tensor, z: Tensor, m: Moments, gamma: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of a normalisation in its input, gamma and beta."""
    g, rstd = _matrix(grad), (m.var + EPS).rsqrt()
    normal = torch.addcmul(-m.mean * rstd, _matrix(z), rstd)
    beta, gamma_grad = _sum_pixels(g), _sum_pixels(g * normal)
    through_mean, through_var = sum_over_ranks(torch.stack([beta, gamma_grad])) / (len(g) * ranks())
    grad_z = torch.addcmul(through_mean, normal, through_var, out=normal)
    torch.sub(g, grad_z, out=grad_z).mul_(gamma * rstd)
    B, C, H, W = z.shape
    return grad_z.view(B, H, W, C).permute(0, 3, 1, 2), gamma_grad, beta


def _unrectify(grad: Tensor, rectified: Tensor) -> Tensor:
    """Return the gradient of a ReLU in its input, given its output."""
    out: Tensor = torch.ops.aten.threshold_backward(grad, rectified, 0)
    return out


def _convolve(x: Tensor, weight: Tensor, bias: Tensor, short: bool) -> Tensor:
    """Convolve with a 3 x 3 kernel."""
    if not short:
        return F.conv2d(x, weight, bias, padding=1)
    return F.conv2d(x.bfloat16(), weight.bfloat16(), bias.bfloat16(), padding=1).to(x.dtype)


def _unconvolve(grad: Tensor, x: Tensor, weight: Tensor, short: bool) -> tuple[Tensor, Tensor]:
    """Return the gradients of a 3 x 3 convolution in its input and its weight."""
    if short:
        grad_x, grad_w = _unconvolve(grad.bfloat16(), x.bfloat16(), weight.bfloat16(), short=False)
        return grad_x.to(x.dtype), grad_w.to(x.dtype)
    grad_x, grad_w, _ = torch.ops.aten.convolution_backward(
        grad, x, weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False]
    )
    return grad_x, grad_w
