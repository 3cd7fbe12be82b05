"""What the localiser sees: a slice and its neighbours in several windows, and the bands of what may be metal.

Rays through metal lose less than their length in metal says, since metal hardens the beam. If the bright pixels B of a
slice are metal, the slice therefore has dark and bright bands like those of

    FBP(L^2 / (1 + L)),    L = P B

where L is the path of a ray through them in cm. Enamel and bone cause no such bands.
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
from acdnet.units import AIR_HU, Image

BRIGHT_HU = 2000.0
"""Pixels above may be metal."""
SOFT_HU, WIDE_HU, DARKEST_HU = 250.0, 2000.0, 500.0
"""Scales of the three windows; the third is logarithmic and begins at the last value."""
COARSE, VIEWS = 128, 160
"""Side of the grid, and number of views, in which the bands are computed."""
BAND_SCALE = 0.1
"""Typical size of the bands beside metal, 1/cm."""
ABSENT = -1.0
"""Stands for a neighbour that is not there."""


def clues(slices: Sequence[Image | None], pixel_mm: float) -> Tensor:
    """Return the channels, 8 x H x W, of a slice, between the slices below and above; None where there is none."""
    below, here, above = (None if hu is None else torch.from_numpy(np.ascontiguousarray(hu)) for hu in slices)
    assert here is not None
    channels = [(here / SOFT_HU).clamp(-1.5, 1.5), _wide(here), _bright(here)]
    for other in (below, above):
        if other is None:
            channels += [torch.full_like(here, ABSENT)] * 2
        else:
            channels += [_wide(other), _bright(other)]
    return torch.stack([*channels, bands(here, pixel_mm)])


def _wide(hu: Tensor) -> Tensor:
    return (hu / WIDE_HU).clamp(-0.5, 2.5)


def _bright(hu: Tensor) -> Tensor:
    return torch.log2(hu.clamp(DARKEST_HU, 32 * DARKEST_HU) / DARKEST_HU) / 3


def bands(hu: Tensor, pixel_mm: float) -> Tensor:
    """Return the bands that the bright pixels of a slice would cause if they were metal."""
    bright = (hu > BRIGHT_HU).float()
    if not bright.any():
        return torch.zeros_like(hu)
    height, width = hu.shape
    side = max(height, width)
    square = F.pad(bright, (0, side - width, 0, side - height))[None, None]
    coarse = F.interpolate(square, (COARSE, COARSE), mode="area")[0, 0]
    geometry = FanBeam.around(COARSE, pixel_mm / 10 * side / COARSE, views=VIEWS)
    L = project(coarse, geometry)
    found = fbp(L**2 / (1 + L), geometry)[None, None] / BAND_SCALE
    fine = F.interpolate(found, (side, side), mode="bilinear")[0, 0, :height, :width]
    return fine.clamp(-3.0, 3.0)


def finite(hu: Image) -> Image:
    """Replace values that are not finite, with which some programs mark metal, by the brightest."""
    there = np.isfinite(hu)
    return hu if there.all() else np.where(there, hu, hu[there].max(initial=AIR_HU))
