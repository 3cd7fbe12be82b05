"""The I-step: is an object metal? Ask the reduction.

The mask I is a variable of the model. For the objects o of a slice, with S those that are metal so far, it compares the
images with and without the rays through o replaced (LI),

    g_o = log TV(X(S + o)) - log TV(X(S - o))

where TV is the mean absolute gradient of soft tissue outside all objects. If o is metal, its streaks go and g_o < 0; if
it is tissue, its rays were sound, their replacement adds streaks, and g_o > 0.
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
from acdnet.units import WATER_MU, Image, Mask, mu_from_hu

COARSE, VIEWS = 128, 192
"""Side of the grid, and number of views."""
BRIGHTEST = 1.5
"""Limit of the attenuation in 1/cm, so that metal of 12 and of 16 bits count alike."""
TRACE = 0.02
"""Rays with a longer path through the mask, in pixels, are replaced."""
SOFT = (0.73 * WATER_MU, 1.3 * WATER_MU)
"""Soft tissue in 1/cm."""
LIMITS = (0.5 * WATER_MU, 1.5 * WATER_MU)
"""Values beyond count as these, so that air and bone do not rule the gradients."""


def streak_gains(hu: Image, masks: Sequence[Mask], is_metal: Sequence[bool], pixel_mm: float) -> list[float]:
    """Return g for every object of a slice, given the masks of the objects and whether they are metal so far."""
    side = max(hu.shape)
    geometry = FanBeam.around(COARSE, pixel_mm / 10 * side / COARSE, views=VIEWS)
    objects = [torch.from_numpy(mask.astype(np.float32)) for mask in masks]
    mu = torch.from_numpy(np.clip(mu_from_hu(hu), 0.0, BRIGHTEST).astype(np.float32))
    coarse = _coarse(torch.stack([mu, *objects]), side)
    lines = project(coarse, geometry)
    sinogram, paths = lines[0], lines[1:] > TRACE * geometry.pixel_cm
    so_far = [n for n, metal in enumerate(is_metal) if metal]
    traces = [_union(paths, so_far)]
    for n in range(len(masks)):
        traces.append(_union(paths, [*so_far, n] if n not in so_far else [m for m in so_far if m != n]))
    images = fbp(torch.stack([interpolate(sinogram, trace) for trace in traces]), geometry)
    Y = fbp(sinogram, geometry)
    hidden = F.max_pool2d((coarse[1:].amax(0) > 0).float()[None], 3, 1, 1)[0] > 0
    soft = (SOFT[0] < Y) & (SOFT[1] > Y) & ~hidden
    tv = [_tv(image.clamp(*LIMITS), soft) for image in images]
    return [float(np.log(tv[0] / tv[n + 1]) if n in so_far else np.log(tv[n + 1] / tv[0])) for n in range(len(masks))]


def _coarse(images: Tensor, side: int) -> Tensor:
    height, width = images.shape[-2:]
    square = F.pad(images, (0, side - width, 0, side - height))
    return F.interpolate(square[:, None], (COARSE, COARSE), mode="area")[:, 0]


def _union(paths: Tensor, numbers: Sequence[int]) -> Tensor:
    return paths[list(numbers)].any(0) if numbers else torch.zeros_like(paths[0])


def _tv(X: Tensor, where: Tensor) -> float:
    """Return the mean absolute gradient, at least that of a flat image of one HU of noise."""
    down, across = (X[1:, :-1] - X[:-1, :-1]).abs(), (X[:-1, 1:] - X[:-1, :-1]).abs()
    inside = where[1:, :-1] & where[:-1, :-1] & where[:-1, 1:]
    return float((down + across)[inside].sum() / max(1, int(inside.sum()))) + 1e-3 * WATER_MU
