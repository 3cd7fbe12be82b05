"""The physics written plainly, for comparison: one ray and one pixel at a time, in NumPy and in Numba.

The NumPy statement treats a view at a time on one thread; the Numba statement is the usual matrix-free kernel, a
parallel loop over views or pixels with the interpolation inside. Neither knows of symmetries or lanes.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

from acdnet.physics.geometry import FanBeam

Floats = NDArray[np.float32]


def numpy_project(image: Floats, g: FanBeam) -> Floats:
    """Joseph's line integrals, one view at a time."""
    half = (g.size - 1) / 2
    out = np.zeros(g.sinogram_shape, np.float32)
    padded = np.pad(image, 2).astype(np.float64)
    steps = np.arange(g.size)
    for view, a in enumerate(g.angles):
        sx, sy = g.source * math.sin(a), -g.source * math.cos(a)
        dx, dy = g.positions * math.cos(a) - sx, g.positions * math.sin(a) - sy
        along_y = np.abs(dy) >= np.abs(dx)
        for rays, d, across, s, t, picture in (
            (along_y, dy, dx, sy, sx, padded.T),
            (~along_y, dx, dy, sx, sy, padded),
        ):
            if not rays.any():
                continue
            position = t + (steps[:, None] - half - s) * (across[rays] / d[rays]) + half
            i = np.clip(np.floor(position), -2, g.size).astype(int)
            w = np.clip(position - i, 0, 1)
            rows = picture[steps + 2]
            low, high = (np.take_along_axis(rows, i + k + 2, 1) for k in (0, 1))
            length = np.hypot(dx[rays], dy[rays]) / np.abs(d[rays]) * g.pixel_cm
            out[view, rays] = ((1 - w) * low + w * high).sum(0) * length
    return out


def numpy_back_project(sinogram: Floats, g: FanBeam) -> Floats:
    """Back-projection with weight 1/U, one view at a time."""
    line = np.arange(g.size) - (g.size - 1) / 2
    x, y = line[:, None], line[None, :]
    out = np.zeros((g.size, g.size))
    bins = np.arange(g.bins)
    for view, a in enumerate(g.angles):
        u = 1 + (y * math.cos(a) - x * math.sin(a)) / g.source
        s = (x * math.cos(a) + y * math.sin(a)) / u / g.pitch + (g.bins - 1) / 2
        out += np.interp(s, bins, sinogram[view], left=0, right=0) / u
    return out.astype(np.float32)


@numba.njit(parallel=True, fastmath=True)
def _numba_project(image, source, pixel_cm, angles, positions):  # type: ignore[no-untyped-def]
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
def _numba_back_project(sinogram, source, pitch, n, angles):  # type: ignore[no-untyped-def]
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


def numba_project(image: Floats, g: FanBeam) -> Floats:
    """Joseph's line integrals, compiled."""
    sinogram: Floats = _numba_project(image, g.source, g.pixel_cm, g.angles, g.positions)
    return sinogram


def numba_back_project(sinogram: Floats, g: FanBeam) -> Floats:
    """Back-projection with weight 1/U, compiled."""
    image: Floats = _numba_back_project(sinogram, g.source, g.pitch, g.size, g.angles)
    return image


def ramp(sinogram: Floats, g: FanBeam) -> Floats:
    """Filter with the benchmark's ramp, in NumPy."""
    count = 2 * g.bins - 1
    frequencies = np.abs(np.fft.fftfreq(count))
    frequencies[0] = 0.26 * frequencies[1]
    filtered = np.fft.ifft(np.fft.fft(sinogram, count, axis=1) * frequencies, axis=1).real[:, : g.bins]
    return np.asarray(filtered / (g.pitch * g.pixel_cm), np.float32)
