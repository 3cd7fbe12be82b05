"""The physics written plainly in Numba, for comparison: one ray and one pixel at a time.

These are the usual matrix-free kernels, parallel loops over views or pixels with the interpolation inside, without
symmetries and SIMD.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

from acdnet.physics.geometry import FanBeam

Floats = NDArray[np.float32]


@numba.njit(parallel=True, fastmath=True)
def _project(image, source, pixel_cm, angles, positions):  # type: ignore[no-untyped-def]
    n = image.shape[0]
    half = (n - 1) / 2
    out = np.zeros((angles.size, positions.size), np.float32)
    for view in numba.prange(angles.size):
        ca, sa = math.cos(angles[view]), math.sin(angles[view])
        sx, sy = source * sa, -source * ca
        for b in range(positions.size):
            dx, dy = positions[b] * ca - sx, positions[b] * sa - sy
            total = 0.0
            if abs(dy) >= abs(dx):
                for j in range(n):
                    x = sx + (j - half - sy) * dx / dy + half
                    i = math.floor(x)
                    if i >= 0 and i < n - 1:
                        total += (1 - (x - i)) * image[i, j] + (x - i) * image[i + 1, j]
                total *= math.sqrt(dx * dx + dy * dy) / abs(dy)
            else:
                for i in range(n):
                    y = sy + (i - half - sx) * dy / dx + half
                    j = math.floor(y)
                    if j >= 0 and j < n - 1:
                        total += (1 - (y - j)) * image[i, j] + (y - j) * image[i, j + 1]
                total *= math.sqrt(dx * dx + dy * dy) / abs(dx)
            out[view, b] = total * pixel_cm
    return out


@numba.njit(parallel=True, fastmath=True)
def _back_project(sinogram, source, pitch, n, angles):  # type: ignore[no-untyped-def]
    half, middle = (n - 1) / 2, (sinogram.shape[1] - 1) / 2
    out = np.zeros((n, n), np.float32)
    for i in numba.prange(n):
        for view in range(angles.size):
            ca, sa = math.cos(angles[view]), math.sin(angles[view])
            for j in range(n):
                u = 1 + ((j - half) * ca - (i - half) * sa) / source
                s = ((i - half) * ca + (j - half) * sa) / u / pitch + middle
                k = math.floor(s)
                if k >= 0 and k < sinogram.shape[1] - 1:
                    out[i, j] += ((1 - (s - k)) * sinogram[view, k] + (s - k) * sinogram[view, k + 1]) / u
    return out


def project(image: Floats, g: FanBeam) -> Floats:
    """Joseph's line integrals."""
    sinogram: Floats = _project(image, g.source, g.pixel_cm, g.angles, g.positions)
    return sinogram


def reconstruct(sinogram: Floats, g: FanBeam) -> Floats:
    """Filter with the benchmark's ramp, and project back with weight 1/U; 1/cm."""
    count = 2 * g.bins - 1
    frequencies = np.abs(np.fft.fftfreq(count))
    frequencies[0] = 0.26 * frequencies[1]
    filtered = np.fft.ifft(np.fft.fft(sinogram, count, axis=1) * frequencies, axis=1).real[:, : g.bins]
    lines = np.asarray(filtered / (g.pitch * g.pixel_cm), np.float32)
    image: Floats = _back_project(lines, g.source, g.pitch, g.size, g.angles)
    return image * np.float32(np.pi / g.views)
