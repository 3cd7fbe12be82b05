"""Cut solids by slices: the share of metal in every pixel, in sub-planes inside the slice thickness."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from acdnet.physics.implants.solid.solids import Solid

Shares = NDArray[np.float32]
LAYERS = 2
"""Layers of a slice that the beam passes side by side."""
PLANES = 3
"""Planes in each layer."""
FINE = 2
"""Points along each side of a pixel."""


def cut(parts: Sequence[Solid], heights: Sequence[float], thickness: float, pixel_mm: float, size: int) -> Shares:
    """Return the share of metal, slices x LAYERS x size x size; the origin is the centre of the picture."""
    found = np.zeros((len(heights), LAYERS, size, size), np.float32)
    within = (np.arange(LAYERS * PLANES) + 0.5) / (LAYERS * PLANES) - 0.5
    levels = (np.asarray(heights, float)[:, None] + thickness * within).ravel()
    box = _window(parts, pixel_mm, size)
    if box is None:
        return found
    (x0, x1), (y0, y1) = box
    fine = np.zeros((len(levels), FINE * (y1 - y0), FINE * (x1 - x0)), bool)
    x, y = (_points(*edges, pixel_mm, size) for edges in box)
    for part in parts:
        zs = np.nonzero((levels >= part.low[2]) & (levels <= part.high[2]))[0]
        ys, xs = (
            slice(*np.searchsorted(points, (part.low[axis], part.high[axis] + 1e-6)))
            for points, axis in ((y, 1), (x, 0))
        )
        if len(zs) and ys.stop > ys.start and xs.stop > xs.start:
            z = levels[zs].astype(np.float32)
            mask = part.inside(x[None, None, xs], y[None, ys, None], z[:, None, None])
            fine[zs[0] : zs[-1] + 1, ys, xs] |= mask
    shape = (len(heights), LAYERS, PLANES, y1 - y0, FINE, x1 - x0, FINE)
    found[:, :, y0:y1, x0:x1] = fine.reshape(shape).mean((2, 4, 6), dtype=np.float32)
    return found


def _window(parts: Sequence[Solid], pixel_mm: float, size: int) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return the first and last pixel along x and y that any part reaches."""
    if not parts:
        return None
    low, high = np.min([part.low for part in parts], 0), np.max([part.high for part in parts], 0)
    middle = (size - 1) / 2
    edges = [
        (max(0, int(np.floor(low[a] / pixel_mm + middle))), min(size, int(np.ceil(high[a] / pixel_mm + middle)) + 1))
        for a in (0, 1)
    ]
    return (edges[0], edges[1]) if all(last > first for first, last in edges) else None


def _points(first: int, last: int, pixel_mm: float, size: int) -> Shares:
    """Return the positions of the points inside some pixels."""
    at = first + (np.arange(FINE * (last - first)) + 0.5) / FINE - 0.5
    return np.asarray((at - (size - 1) / 2) * pixel_mm, np.float32)
