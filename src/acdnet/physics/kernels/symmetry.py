r"""The eight symmetries of the square, used as lanes of a vector.

Rotating the image by 90 degrees shifts the views by a quarter; mirroring it mirrors views and detector. Four rotations
and four mirrored rotations of one eighth of the rays thus give all rays. An operator computes only that eighth, for the
eight transformed copies of an image at once: a position that is computed once serves eight rays, and two images fill a
vector of 16 numbers.

With r a rotation by 90 degrees, m the mirror x -> -x, and p(a, s) the projection of f at angle a and position s:

    lane k      f(r^k .)      gives   p(a + k 90, s)
    lane 4 + k  f(r^k m .)    gives   p(k 90 - a, -s)

Lanes of images are stored as block, y, x, lane; of sinograms as block, view, bin, lane.
"""

from __future__ import annotations

import torch
from torch import Tensor

LANES = 16
"""Lanes in a block: two images, eight symmetries each; one AVX-512 register or two AVX registers."""


def image_lanes(images: Tensor, border: tuple[int, int] = (0, 0)) -> Tensor:
    """Arrange B x n x n images as lanes, with zero columns before and after x."""
    before, after = border
    images = _even(images)
    B, n, _ = images.shape
    lanes = images.new_zeros(B // 2, n, before + n + after, LANES)
    inner = lanes[:, :, before : before + n].unflatten(3, (2, 8))  # block, y, x, image, symmetry
    for k in range(4):
        turned = images.rot90(-k, (1, 2)).unflatten(0, (B // 2, 2)).permute(0, 3, 2, 1)  # block, y, x, image
        inner[..., k] = turned
        inner[..., 4 + k] = turned.flip(2)
    return lanes


def image_from_lanes(lanes: Tensor, count: int) -> Tensor:
    """Transform the lanes back and sum them: the transpose of `image_lanes` without border."""
    blocks, n, _, _ = lanes.shape
    parts = lanes.unflatten(3, (2, 8)).permute(0, 3, 4, 2, 1)  # block, image, symmetry, x, y
    total = lanes.new_zeros(blocks, 2, n, n)
    for k in range(4):
        total += (parts[:, :, k] + parts[:, :, 4 + k].flip(2)).rot90(k, (2, 3))
    return total.flatten(0, 1)[:count]


def sinogram_lanes(sinograms: Tensor, views: int) -> Tensor:
    """Arrange the rays of B x V x bins sinograms as lanes of the first `views` views."""
    sinograms = _even(sinograms)
    B, V, bins = sinograms.shape
    quarters = sinograms.view(B // 2, 2, 4, V // 4, bins)
    lanes = sinograms.new_empty(B // 2, views, bins, LANES)
    target = lanes.unflatten(3, (2, 8))
    for k in range(4):
        target[..., k] = quarters[:, :, k, :views].permute(0, 2, 3, 1)
        mirrored = quarters[:, :, (k - 1) % 4].flip(2, 3)[:, :, :views]  # view k V/4 - 1 - v, bins reversed
        target[..., 4 + k] = mirrored.permute(0, 2, 3, 1)
    return lanes


def sinogram_from_lanes(lanes: Tensor, count: int, views: int) -> Tensor:
    """Transform the lanes back and sum them: the transpose of `sinogram_lanes`."""
    blocks, given, bins, _ = lanes.shape
    parts = lanes.unflatten(3, (2, 8)).permute(0, 3, 4, 1, 2)  # block, image, symmetry, view, bin
    total = lanes.new_zeros(blocks, 2, 4, views // 4, bins)
    for k in range(4):
        total[:, :, k, :given] += parts[:, :, k]
        total[:, :, (k - 1) % 4, views // 4 - given :] += parts[:, :, 4 + k].flip(2, 3)
    return total.view(blocks * 2, views, bins)[:count]


def _even(stack: Tensor) -> Tensor:
    """Append zeros if the number is odd."""
    return stack if len(stack) % 2 == 0 else torch.cat([stack, torch.zeros_like(stack[:1])])
