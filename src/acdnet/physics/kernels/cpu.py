"""The four compiled loops of the projectors, on lanes (see `symmetry`): rays, pixels, and their transposes.

`rays`: Joseph's line integral. In the first views every ray runs along y rather than x; it crosses the row y at

    x = x_source + (y - y_source) slope,   slope = tan(fan angle - view angle),

between two pixels. A view has only bins from `first` on; other rays are mirror images of rays in other views.

`pixels`: back-projection. A pixel at the relative depth U = 1 + (y cos a - x sin a) / R is projected to

    s = (x cos a + y sin a) / U

between two bins; the interpolated value has the weight U^-power.

Positions are always in double precision. They are computed for one row at a time in loops that compilers vectorise,
before the lanes are read. Empty rows and columns of an image are skipped.
"""

from __future__ import annotations

import numpy as np

from acdnet.fast.jit import compile_loop
from acdnet.physics.kernels.simd import gather, scatter


@compile_loop(inline=True)
def _met(slope, x_source, depth, first, low, high, index, near, far):  # type: ignore[no-untyped-def]
    """Find the bins whose rays cross a row between the columns low and high, and the pixels next to each crossing."""
    start = max(first, np.searchsorted(slope, (low - x_source) / depth, side="left"))
    stop = np.searchsorted(slope, (high - x_source) / depth, side="left")
    for b in range(start, stop):
        x = x_source + depth * slope[b]
        i = np.int64(x)
        index[b] = i
        far[b] = x - i
        near[b] = 1.0 - (x - i)
    return start, stop


@compile_loop()
def rays(image, low, high, slope, first, x_source, y_source, out, start, stop):  # type: ignore[no-untyped-def]
    """Sum an image (y, 1 + x + 2, lane) along the rays (view, bin, lane) of the views start..stop.

    The row y is empty outside the columns low[y]..high[y].
    """
    n, columns, _ = image.shape
    bins, half = slope.shape[1], 0.5 * (n - 1)
    index, near, far = np.empty(bins, np.int64), np.empty(bins, image.dtype), np.empty(bins, image.dtype)
    source, target = image.reshape(-1), out.reshape(-1)
    for view in range(start, stop):
        x0 = x_source[view] + half + 1.0
        for y in range(n):
            if low[y] > high[y]:
                continue
            left, right = max(0.0, low[y] - 1.0), min(n + 1.0, high[y] + 1.0)
            a, b = _met(slope[view], x0, y - half - y_source[view], first[view], left, right, index, near, far)
            for k in range(a, b):
                gather(target, view * bins + k, source, y * columns + index[k], near[k], far[k])


@compile_loop()
def rays_transposed(lanes, slope, first, x_source, y_source, out, start, stop):  # type: ignore[no-untyped-def]
    """Spread rays (view, bin, lane) over an image (y, 1 + x + 2, lane), its rows start..stop."""
    n, columns, _ = out.shape
    views, bins = slope.shape
    half = 0.5 * (n - 1)
    index, near, far = np.empty(bins, np.int64), np.empty(bins, lanes.dtype), np.empty(bins, lanes.dtype)
    source, target = lanes.reshape(-1), out.reshape(-1)
    for y in range(start, stop):
        for view in range(views):
            x0 = x_source[view] + half + 1.0
            a, b = _met(slope[view], x0, y - half - y_source[view], first[view], 0.0, n + 1.0, index, near, far)
            for k in range(a, b):
                scatter(target, y * columns + index[k], source, view * bins + k, near[k], far[k])


@compile_loop(inline=True)
def _seen(n, y, cos, sin, radius, pitch, power, middle, bins, index, near, far):  # type: ignore[no-untyped-def]
    """Find the bins next to the projection of each pixel of a row, and their weights; 0 outside the detector."""
    half = 0.5 * (n - 1)
    for x in range(n):
        u = 1.0 / (1.0 + ((y - half) * cos - (x - half) * sin) / radius)
        s = ((x - half) * cos + (y - half) * sin) * u / pitch + middle
        weight = u if power == 1 else u * u
        inside = s >= 0.0 and s < bins + 1.0
        s = s if inside else 0.0
        weight = weight if inside else 0.0
        i = np.int64(s)
        index[x] = i
        far[x] = weight * (s - i)
        near[x] = weight * (1.0 - (s - i))


@compile_loop()
def pixels(lanes, cos, sin, radius, pitch, power, out, start, stop):  # type: ignore[no-untyped-def]
    """Sum views (view, 1 + bin + 2, lane) in an image (y, x, lane), its rows start..stop."""
    views, columns, _ = lanes.shape
    n = out.shape[1]
    middle, bins = 0.5 * (columns - 4) + 1.0, columns - 3
    index, near, far = np.empty(n, np.int64), np.empty(n, lanes.dtype), np.empty(n, lanes.dtype)
    source, target = lanes.reshape(-1), out.reshape(-1)
    for y in range(start, stop):
        for view in range(views):
            _seen(n, y, cos[view], sin[view], radius, pitch, power, middle, bins, index, near, far)
            for x in range(n):
                gather(target, y * n + x, source, view * columns + index[x], near[x], far[x])


@compile_loop()
def pixels_transposed(image, cos, sin, radius, pitch, power, out, start, stop):  # type: ignore[no-untyped-def]
    """Spread an image (y, x, lane) over views (view, 1 + bin + 2, lane), those from start to stop."""
    columns = out.shape[1]
    n = image.shape[1]
    middle, bins = 0.5 * (columns - 4) + 1.0, columns - 3
    index, near, far = np.empty(n, np.int64), np.empty(n, image.dtype), np.empty(n, image.dtype)
    source, target = image.reshape(-1), out.reshape(-1)
    for view in range(start, stop):
        for y in range(n):
            _seen(n, y, cos[view], sin[view], radius, pitch, power, middle, bins, index, near, far)
            for x in range(n):
                scatter(target, view * columns + index[x], source, y * n + x, near[x], far[x])
