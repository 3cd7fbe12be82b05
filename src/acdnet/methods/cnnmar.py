r"""CNNMAR as a method: a small network makes a prior image, whose projection fills the trace (Zhang and Yu 2018).

1  a network turns the measured image, BHC and LI into one image without most of the streaks
2  tissue processing: soft tissue becomes flat, bone and air stay; this is the prior
3  the sinogram minus that of the prior is interpolated over the trace, and the prior's added again; FBP
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
from acdnet.methods.method import BaseMethod, Reduction
from acdnet.methods.nmar import cluster
from acdnet.physics.measurement import Image, Mask, Measurement, attenuation, prepare
from acdnet.physics.trace import interpolate
from acdnet.units import AIR_HU, WATER_MU, hu_from_mu
from acdnet.weights.card import Card

START_HU = (-900.0, 0.0, 1000.0)
"""Air, water and bone, from which the clusters start."""
LEAST_BONE_HU = 350.0
EDGE = 5.0
"""Pixels from the edge of soft tissue over which it fades from what it is to what it is made."""


class CNNMARMethod(BaseMethod):
    """The network with its weights, on a device."""

    def __init__(self, network: CNNMAR, card: Card | None = None, label: str = "", device: str = "cpu") -> None:
        self.network, self.device = network.to(device).eval(), torch.device(device)
        self.name, self.label = "cnnmar", label or (f"CNNMAR ({card.name})" if card else "CNNMAR")
        self.parameters, self.weights = network.config.count_parameters(), card.sha256 if card else ""
        self.starts_from, self.training = "BHC, LI", card.training if card else None

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
    """Return measured image, BHC and LI in 1/cm, metal set to water: 3 x H x W. `li_hu` is LI, if it is known."""
    li_hu = li(measurement) if li_hu is None else li_hu
    images = torch.stack([attenuation(image) for image in (measurement.image, bhc(measurement), li_hu)])
    return torch.where(torch.from_numpy(hide(measurement.metal)), WATER_MU, images)


def hide(metal: Mask) -> Mask:
    """Return what the network does not see: metal, widened by a plus of 3 x 3."""
    return np.asarray(binary_dilation(metal))


def make_prior(hu: Image, metal: Mask) -> Image:
    """Flatten soft tissue, fading over at its edges, and fill what was hidden with what lies nearest to it."""
    image = np.maximum(_filled(hu, hide(metal)), np.float32(AIR_HU))
    air_below, bone_above = cluster(image, START_HU)
    water = (image >= air_below) & (image < max(bone_above, LEAST_BONE_HU))
    if not water.any() or water.all():
        return image
    w = np.minimum(distance_transform_edt(water), EDGE) / EDGE
    mean = float(image[water].mean())
    return np.asarray(w * mean + (1 - w) * image, np.float32)


def _filled(hu: Image, metal: Mask) -> Image:
    """Give every metal pixel the value of the nearest pixel outside."""
    if not metal.any() or metal.all():
        return hu
    rows, columns = distance_transform_edt(metal, return_distances=False, return_indices=True)
    return np.asarray(hu[rows, columns])
