"""The same physics once more, written plainly: one ray, one pixel at a time."""

import math

import numpy as np
from numpy.typing import NDArray

from acdnet.physics.geometry import FanBeam


def disc(g: FanBeam, x: float, y: float, radius: float, oversampling: int = 12) -> NDArray[np.float32]:
    """Return the share of each pixel that a disc covers; cm."""
    offsets = (np.arange(oversampling) + 0.5) / oversampling - 0.5
    line = ((np.arange(g.size) - (g.size - 1) / 2)[:, None] + offsets).ravel() * g.pixel_cm
    inside = (line[:, None] - x) ** 2 + (line[None, :] - y) ** 2 <= radius**2
    shares = inside.reshape(g.size, oversampling, g.size, oversampling).mean((1, 3))
    return np.asarray(shares, np.float32)


def disc_projection(g: FanBeam, x: float, y: float, radius: float) -> NDArray[np.float64]:
    """Return the exact length in cm that each ray has in a disc."""
    a, s = g.angles[:, None], g.positions * g.pixel_cm
    source_x, source_y = g.source_cm * np.sin(a), -g.source_cm * np.cos(a)
    dx, dy = s * np.cos(a) - source_x, s * np.sin(a) - source_y
    distance = ((x - source_x) * dy - (y - source_y) * dx) / np.hypot(dx, dy)
    return np.asarray(2 * np.sqrt(np.maximum(radius**2 - distance**2, 0)))


def project(image: NDArray[np.float64], g: FanBeam) -> NDArray[np.float64]:
    """Joseph's line integrals, ray by ray, each along the axis that it runs along."""
    n, half = g.size, (g.size - 1) / 2
    out = np.zeros(g.sinogram_shape)
    for view, a in enumerate(g.angles):
        source = g.source * np.array([math.sin(a), -math.cos(a)])
        for b, s in enumerate(g.positions):
            step = s * np.array([math.cos(a), math.sin(a)]) - source
            along = int(abs(step[1]) >= abs(step[0]))
            total = 0.0
            for k in range(n):
                t = (k - half - source[along]) / step[along]
                across = source[1 - along] + t * step[1 - along] + half
                i = math.floor(across)
                for j, weight in ((i, 1 - (across - i)), (i + 1, across - i)):
                    if 0 <= j < n:
                        total += weight * (image[j, k] if along else image[k, j])
            out[view, b] = total * g.pixel_cm * float(np.linalg.norm(step)) / abs(step[along])
    return out


def back_project(sinogram: NDArray[np.float64], g: FanBeam, power: int) -> NDArray[np.float64]:
    """Weighted back-projection, pixel by pixel."""
    half = (g.size - 1) / 2
    out = np.zeros((g.size, g.size))
    for view, a in enumerate(g.angles):
        for i in range(g.size):
            for j in range(g.size):
                x, y = i - half, j - half
                u = 1 + (y * math.cos(a) - x * math.sin(a)) / g.source
                s = (x * math.cos(a) + y * math.sin(a)) / u / g.pitch + (g.bins - 1) / 2
                k = math.floor(s)
                for bin_, weight in ((k, 1 - (s - k)), (k + 1, s - k)):
                    if 0 <= bin_ < g.bins:
                        out[i, j] += weight * sinogram[view, bin_] / u**power
    return out
