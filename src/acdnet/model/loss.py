r"""The training loss, Eq. (15).

    L = sum_t mu_t || I.(X - X^(t)) ||_2^2
        + omega_1 sum_t mu_t || I.(X - X^(t)) ||_1
        + omega_2 sum_t mu_t || I.(Y - X - A^(t)) ||_1

Squared terms are means over batch and pixels. In the published training the absolute terms are sums, so their weight
depends on the batch; here they are means times a constant that gives the published weight for the published batch. The
loss is then independent of batch and patch size.

A few patches with strong artifacts dominate the mean over a batch. With `relative`, the logarithm of each norm is
averaged over patches: halving the error of a weak artifact counts as much as halving that of a strong one, as in a PSNR
averaged over images.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from acdnet.model.acdnet import Decomposition

PUBLISHED_OMEGA = 5e-4
"""omega_1 and omega_2 as published, for sums."""
PUBLISHED_BATCH_PIXELS = 32 * 64 * 64
"""Pixels in a published batch: 32 patches of 64 x 64."""
L1_WEIGHT = PUBLISHED_OMEGA * PUBLISHED_BATCH_PIXELS
"""omega_1 and omega_2 for means (65.536)."""
MU_FINAL, MU_STAGE = 1.0, 0.1
"""mu_T of the last image and artifact, mu_t of those before it."""
START_FACTOR = MU_FINAL / MU_STAGE
"""The second image and artifact of the start have the weight of the last, as published."""
LEAST = 0.1
"""Floor of errors in logarithms, in network units (2 HU)."""


class Loss(NamedTuple):
    """The three weighted sums of Eq. (15); with `relative`, sums of logarithms, which may be negative."""

    image_l2: Tensor
    image_l1: Tensor
    artifact_l1: Tensor

    @property
    def total(self) -> Tensor:
        return self.image_l2 + self.image_l1 + self.artifact_l1


def acdnet_loss(
    result: Decomposition,
    Y: Tensor,
    X: Tensor,
    I: Tensor,
    omega: float = L1_WEIGHT,
    W: Tensor | None = None,
    mu: float = MU_STAGE,
    relative: bool = False,
) -> Loss:
    """Compute Eq. (15): compare every stage with the clean image X and the artifact Y - X, where I is true (not metal).

    `omega` is omega_1 and omega_2 for means; smaller values emphasise strong errors. W weights pixels, by default 1.
    `mu` is mu_t of the stages before the last; the two results of the start have mu and 10 mu, as published. `relative`
    uses the logarithms of the norms of each patch.
    """
    inside = I.bool()
    images = [*((mu, image) for image in result.images), (MU_FINAL, result.image)]
    artifacts = [*((mu, artifact) for artifact in result.artifacts), (MU_FINAL, result.artifacts[-1])]
    images += zip((mu, START_FACTOR * mu), result.start_images, strict=True)
    artifacts += zip((mu, START_FACTOR * mu), result.start_artifacts, strict=True)

    def masked(difference: Tensor) -> Tensor:
        return torch.where(inside, difference, 0.0)

    def mean(difference: Tensor, least: float = LEAST) -> Tensor:
        weighted = difference if W is None else W * difference
        if not relative:
            return weighted.mean()
        share = 1.0 if W is None else W.mean(dim=(1, 2, 3))  # so that `least` has the same meaning for all patches
        return (weighted.mean(dim=(1, 2, 3)) / share + least).log().mean()

    off = [(weight, masked(X - image)) for weight, image in images]
    return Loss(
        image_l2=torch.stack([weight * mean(difference.square(), LEAST**2) for weight, difference in off]).sum(),
        image_l1=omega * torch.stack([weight * mean(difference.abs()) for weight, difference in off]).sum(),
        artifact_l1=omega
        * torch.stack([weight * mean(masked(Y - X - artifact).abs()) for weight, artifact in artifacts]).sum(),
    )
