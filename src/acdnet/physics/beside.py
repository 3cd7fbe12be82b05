r"""Rays beside the metal are sound: what a correction took from them is given back.

Metal spoils the rays that meet it. A correction X of the slice Y that also changes the others has mostly taken tissue
for artifact. With P the projection, and I = 1 outside metal,

    d = P I . (Y - X)                  what the correction took from each ray; LI of it across the metal's trace
    d = smooth + fine                  each of them limited, ray by ray
    X' = X + c FBP(smooth + fine)      c a little above 1, as small things have no part in what is interpolated

Small things beside metal come back, as most of their rays run beside it, and so do bones. Rays that graze the metal see
its blurred edge: the trace is taken wider. An image is cut off below air, and that puts a part of strong streaks into
all rays: broad, or larger than what small things make of a ray, whence the limits.

`python -m benchmarks.beside` shows what it gains, and where it does harm.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt, gaussian_filter
from torch import Tensor

from acdnet.physics.fbp import fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.projector import project
from acdnet.physics.trace import interpolate
from acdnet.units import WATER_MU

REACH_MM = 3.0
"""Distance from the metal up to which rays belong to its trace."""
SHARE_OF_VIEWS = 1 / 2
"""So many of the views are projected, which is quicker; with all of them next to nothing is gained."""
SMOOTH_DEGREES, SMOOTH_BINS = 4.5, 8.0
"""Standard deviations of the Gaussian that makes the smooth part."""
SMOOTH_LIMIT, FINE_LIMIT = 0.01, 0.05
"""What a ray gets back at most, as line integrals: 0.5 mm of water, and 2.6 mm. A lesion (4 mm, 40 HU) has 0.003."""
GAIN = 1.2
"""c. Chosen on validation pairs: lesions near metal keep more, and nothing else is changed by more than 0.1 HU."""

Image = NDArray[np.float32]


def ended(last: str, X: Image, Y: Image, metal: NDArray[np.bool_], geometry: FanBeam) -> Image:
    """Return what a model makes of its network's image X of the slice Y: nothing else, or X'; HU."""
    return X if last == "none" else X + given_back(Y - X, metal, geometry)


def given_back(taken: Image, metal: NDArray[np.bool_], geometry: FanBeam) -> Image:
    """Return what is given back of Y - X; in HU, on the pixels of the geometry. Without metal that is all of it."""
    if not metal.any():
        return np.array(taken, np.float32)
    geometry = replace(geometry, views=max(8, round(geometry.views * SHARE_OF_VIEWS / 8) * 8))
    outside = torch.from_numpy(np.where(metal, 0.0, taken * (WATER_MU / 1000.0)).astype(np.float32))
    d, path = project(torch.stack([outside, torch.from_numpy(widened(metal, 10 * geometry.pixel_cm))]), geometry)
    d = interpolate(d, path > 0)
    widths = (SMOOTH_DEGREES / 360 * geometry.views, SMOOTH_BINS)
    smooth = torch.from_numpy(gaussian_filter(d.numpy(), widths, mode=("wrap", "nearest")))
    back = fbp(limited(smooth, SMOOTH_LIMIT) + limited(d - smooth, FINE_LIMIT), geometry, "textbook")
    return np.asarray(back.numpy() * (GAIN * 1000.0 / WATER_MU), np.float32)


def widened(metal: NDArray[np.bool_], pixel_mm: float) -> Image:
    """Widen the metal, by one pixel at least; 1 inside, 0 outside."""
    away: NDArray[np.float64] = distance_transform_edt(~metal)
    return (away <= max(1.0, REACH_MM / pixel_mm)).astype(np.float32)


def limited(values: Tensor, limit: float) -> Tensor:
    """Return values as they are where they are small, and never more than the limit."""
    return values / (1.0 + (values / limit).square()).sqrt()
