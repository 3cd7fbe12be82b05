"""What the localiser sees: a slice and its neighbours in several windows, and what the reduction says of bright pixels.

Rays through metal lose less than their length in metal says, since metal hardens the beam. If the bright pixels B of a
slice are metal, the slice therefore has dark and bright bands like those of

    FBP(L^2 / (1 + L)),    L = P B

where L is the path of a ray through them in cm. Enamel and bone cause no such bands. And if the rays that meet B are
replaced (LI), with p = P Y,

    FBP(LI(p) - p)

removes the streaks of metal, but adds streaks where B is tissue, since its rays were sound.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from acdnet.physics.fbp import fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.projector import project
from acdnet.physics.trace import interpolate
from acdnet.units import AIR_HU, WATER_MU, Image

BRIGHT_HU = 2000.0
"""Pixels above may be metal."""
SOFT_HU, WIDE_HU, DARKEST_HU = 250.0, 2000.0, 500.0
"""Scales of the three windows; the third is logarithmic and begins at the last value."""
COARSE, VIEWS = 128, 160
"""Side of the grid, and number of views, in which the bands are computed."""
BAND_SCALE, CHANGE_SCALE = 0.1, 0.05
"""Typical sizes of the bands, and of the changes of soft tissue, in 1/cm."""
BRIGHTEST = 1.5
"""Limit of the attenuation in 1/cm, so that metal of 12 and of 16 bits counts alike."""
TRACE = 0.02
"""Rays with a longer path through bright pixels, in pixels, are replaced."""
ABSENT = -1.0
"""Stands for a neighbour that is not there."""


def clues(slices: Sequence[Image | None], pixel_mm: float) -> Tensor:
    """Return the channels, 9 x H x W, of a slice, between the slices below and above; None where there is none."""
    below, here, above = (None if hu is None else torch.from_numpy(np.ascontiguousarray(hu)) for hu in slices)
    assert here is not None
    channels = [(here / SOFT_HU).clamp(-1.5, 1.5), _wide(here), _bright(here)]
    for other in (below, above):
        if other is None:
            channels += [torch.full_like(here, ABSENT)] * 2
        else:
            channels += [_wide(other), _bright(other)]
    return torch.stack([*channels, *spoken_back(here, pixel_mm)])


def _wide(hu: Tensor) -> Tensor:
    return (hu / WIDE_HU).clamp(-0.5, 2.5)


def _bright(hu: Tensor) -> Tensor:
    return torch.log2(hu.clamp(DARKEST_HU, 32 * DARKEST_HU) / DARKEST_HU) / 3


def spoken_back(hu: Tensor, pixel_mm: float) -> tuple[Tensor, Tensor]:
    """Return the bands of the bright pixels of a slice, and what the replacement of their rays would change."""
    bright = (hu > BRIGHT_HU).float()
    if not bright.any():
        return torch.zeros_like(hu), torch.zeros_like(hu)
    height, width = hu.shape
    side = max(height, width)
    wide = F.max_pool2d(bright[None], 3, 1, 1)[0]
    mu = (WATER_MU * (1 + hu / 1000)).clamp(0.0, BRIGHTEST)
    square = F.pad(torch.stack([mu, bright, wide]), (0, side - width, 0, side - height))
    coarse = F.interpolate(square[:, None], (COARSE, COARSE), mode="area")[:, 0]
    geometry = FanBeam.around(COARSE, pixel_mm / 10 * side / COARSE, views=VIEWS)
    p, L, path = project(coarse, geometry)
    replaced = interpolate(p, path > TRACE * geometry.pixel_cm) - p
    found = fbp(torch.stack([L**2 / (1 + L), replaced]), geometry)
    fine = F.interpolate(found[None], (side, side), mode="bilinear")[0, :, :height, :width]
    return (fine[0] / BAND_SCALE).clamp(-3.0, 3.0), (fine[1] / CHANGE_SCALE).clamp(-1.5, 1.5)


def finite(hu: Image) -> Image:
    """Replace values that are not finite, with which some programs mark metal, by the brightest."""
    there = np.isfinite(hu)
    return hu if there.all() else np.where(there, hu, hu[there].max(initial=AIR_HU))
