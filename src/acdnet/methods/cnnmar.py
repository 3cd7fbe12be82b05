r"""CNNMAR as a method: a small network makes a prior image, whose projection fills the trace (Zhang and Yu 2018).

1  a network combines the uncorrected image, BHC and LI into an image with fewer streaks
2  tissue processing: soft tissue becomes uniform, bone and air stay; this is the prior
3  the sinogram minus that of the prior is interpolated over the trace, the sinogram of the prior added again; FBP
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy.ndimage import binary_dilation, distance_transform_edt
from torch import Tensor

from acdnet.methods.bhc import bhc
from acdnet.methods.learned.cnnmar import CNNMAR
from acdnet.methods.li import li
from acdnet.methods.method import NetworkMethod, Reduction
from acdnet.methods.nmar import cluster
from acdnet.physics.measurement import Measurement, attenuation, prepare
from acdnet.physics.trace import interpolate
from acdnet.units import AIR_HU, WATER_MU, Image, Mask, hu_from_mu
from acdnet.weights.card import Card

START_HU = (-900.0, 0.0, 1000.0)
"""Initial means of the clusters: air, water and bone."""
LEAST_BONE_HU = 350.0
EDGE = 5.0
"""Distance in pixels from the edge of soft tissue at which it becomes uniform."""


class CNNMARMethod(NetworkMethod):
    """A trained CNNMAR on a device."""

    starts_from = "BHC, LI"

    def __init__(self, network: CNNMAR, card: Card | None = None, device: str = "cpu") -> None:
        self.describe(network.config, "CNNMAR", card, device)
        self.network = network.to(device).eval()

    def batch(self, measurements: Sequence[Measurement]) -> list[Reduction]:
        """Reduce slices one by one."""
        prepare(measurements)
        return [Reduction(one.to_slice(self._reduce(one))) for one in measurements]

    @torch.no_grad()
    def _reduce(self, one: Measurement) -> Image:
        images = three_images(one, one.given.get("li"))
        mu = self.network(images[None].to(self.device))[0, 0].cpu()
        S_prior = one.project(make_prior(hu_from_mu(mu.numpy()), one.metal))
        filled = S_prior + interpolate(one.sinogram - S_prior, one.trace)
        return one.reconstruct(torch.where(one.trace, filled, one.sinogram))


def three_images(measurement: Measurement, li_hu: Image | None = None) -> Tensor:
    """Return uncorrected image, BHC and LI in 1/cm, metal set to water: 3 x H x W. `li_hu` is LI, if known."""
    li_hu = li(measurement) if li_hu is None else li_hu
    images = torch.stack([attenuation(image) for image in (measurement.image, bhc(measurement), li_hu)])
    return torch.where(torch.from_numpy(hide(measurement.metal)), WATER_MU, images)


def hide(metal: Mask) -> Mask:
    """Return the pixels hidden from the network: the metal, dilated by one pixel."""
    return np.asarray(binary_dilation(metal))


def make_prior(hu: Image, metal: Mask) -> Image:
    """Make soft tissue uniform with soft edges, and fill the hidden pixels with their nearest neighbours."""
    image = np.maximum(_filled(hu, hide(metal)), np.float32(AIR_HU))
    air_below, bone_above = cluster(image, START_HU)
    water = (image >= air_below) & (image < max(bone_above, LEAST_BONE_HU))
    if not water.any() or water.all():
        return image
    w = np.minimum(distance_transform_edt(water), EDGE) / EDGE
    mean = float(image[water].mean())
    return np.asarray(w * mean + (1 - w) * image, np.float32)


def _filled(hu: Image, metal: Mask) -> Image:
    """Replace metal pixels by the nearest pixel outside."""
    if not metal.any() or metal.all():
        return hu
    rows, columns = distance_transform_edt(metal, return_distances=False, return_indices=True)
    return np.asarray(hu[rows, columns])
