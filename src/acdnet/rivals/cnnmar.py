r"""CNNMAR: a small network makes a prior image, whose projection fills the trace (Zhang and Yu 2018).

1  a network turns the measured image, BHC and LI into one image without most of the streaks
2  tissue processing: soft tissue becomes flat, bone and air stay; this is the prior
3  the sinogram minus that of the prior is interpolated over the trace, and the prior's added back; FBP
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, distance_transform_edt
from torch import Tensor, nn
from torch.nn import functional as F

from acdnet.baselines.bhc import bhc
from acdnet.baselines.nmar import cluster
from acdnet.config import CNNMARConfig
from acdnet.physics.measured import Measured, attenuation
from acdnet.physics.projector import project
from acdnet.physics.trace import interpolate
from acdnet.units import AIR_HU, WATER_MU, hu_from_mu

Image = NDArray[np.float32]
Mask = NDArray[np.bool_]

START_HU = (-900.0, 0.0, 1000.0)
"""Air, water and bone, from which the clusters begin."""
LEAST_BONE_HU = 350.0
EDGE = 5.0
"""Pixels from the edge of soft tissue within which it goes over from what it is to what it is made."""


class CNNMAR(nn.Module):
    """B x 3 x H x W (measured, BHC, LI; 1/cm) in, B x 1 x H x W out."""

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


def three_images(measured: Measured, li: Image | None = None) -> Tensor:
    """Return measured image, BHC and LI in 1/cm, metal made water: 3 x H x W. `li` is in HU, if known already."""
    if li is None:
        li = measured.reconstruct(measured.interpolated())
    images = torch.stack([attenuation(image) for image in (measured.image, bhc(measured), li)])
    return torch.where(torch.from_numpy(hidden(measured.metal)), WATER_MU, images)


def hidden(metal: Mask) -> Mask:
    """Return what the network does not see: metal, widened by a plus of 3 x 3."""
    return np.asarray(binary_dilation(metal))


@torch.no_grad()
def cnnmar(model: CNNMAR, measured: Measured, li: Image | None = None) -> Image:
    """Reduce a measured slice: network, prior, completed sinogram, reconstruction; HU."""
    device = next(model.parameters()).device
    mu = model(three_images(measured, li)[None].to(device))[0, 0].cpu()
    prior = make_prior(hu_from_mu(mu.numpy()), measured.metal)
    S_prior = project(attenuation(prior), measured.geometry)
    filled = S_prior + interpolate(measured.sinogram - S_prior, measured.trace)
    return measured.reconstruct(torch.where(measured.trace, filled, measured.sinogram))


def make_prior(hu: Image, metal: Mask) -> Image:
    """Make soft tissue flat, fading over at its edges, and fill what was hidden with what lies nearest to it."""
    image = np.maximum(_filled(hu, hidden(metal)), np.float32(AIR_HU))
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
