"""The four loops of the projectors on CPUs, on lanes (see `symmetry`): rays, pixels, and the transpose of each.

`rays`: Joseph's line integral. In the first views every ray runs along y rather than x; in the row y it meets

    x = x_source + (y - y_source) slope,   slope = tan(fan angle - view angle),

between two pixels. Only bins from `first` on belong to a view; a steeper ray is the mirror image of one in another.

`pixels`: back-projection. A pixel is seen at the depth U = 1 + (y cos a - x sin a) / R, relative to the centre, at

    s = (x cos a + y sin a) / U

between two bins; what is found there counts with the weight U^-power.

Positions are in double precision whatever the precision of the values.
"""

from __future__ import annotations

from acdnet.compiled import compile_loop
from acdnet.physics.lanes import gather, scatter


@compile_loop()
def rays(image, slope, first, x_source, y_source, out, start, stop):  # type: ignore[no-untyped-def]
    """Image (y, 1 + x + 2, lane) -> sums along the rays (view, bin, lane) of the views start..stop."""
    n, columns, _ = image.shape
    bins, half = slope.shape[1], 0.5 * (n - 1)
    source, target = image.reshape(-1), out.reshape(-1)
    for view in range(start, stop):
        for y in range(n):
            depth = y - half - y_source[view]
            for b in range(first[view], bins):
                x = x_source[view] + half + 1.0 + depth * slope[view, b]
                if x >= 0.0 and x < n + 1.0:
                    i = int(x)
                    w = image.dtype.type(x - i)
                    gather(target, view * bins + b, source, y * columns + i, image.dtype.type(1) - w, w)


@compile_loop()
def rays_transposed(lanes, slope, first, x_source, y_source, out, start, stop):  # type: ignore[no-untyped-def]
    """Rays (view, bin, lane) -> image (y, 1 + x + 2, lane), the rows start..stop."""
    n, columns, _ = out.shape
    views, bins = slope.shape
    half = 0.5 * (n - 1)
    source, target = lanes.reshape(-1), out.reshape(-1)
    for y in range(start, stop):
        for view in range(views):
            depth = y - half - y_source[view]
            for b in range(first[view], bins):
                x = x_source[view] + half + 1.0 + depth * slope[view, b]
                if x >= 0.0 and x < n + 1.0:
                    i = int(x)
                    w = lanes.dtype.type(x - i)
                    scatter(target, y * columns + i, source, view * bins + b, lanes.dtype.type(1) - w, w)


@compile_loop()
def pixels(lanes, cos, sin, radius, pitch, power, out, start, stop):  # type: ignore[no-untyped-def]
    """Filtered views (view, 1 + bin + 2, lane) -> image (y, x, lane), the rows start..stop."""
    views, columns, _ = lanes.shape
    n = out.shape[1]
    half, middle, bins = 0.5 * (n - 1), 0.5 * (columns - 4) + 1.0, columns - 3
    source, target = lanes.reshape(-1), out.reshape(-1)
    for y in range(start, stop):
        for view in range(views):
            for x in range(n):
                u = 1.0 / (1.0 + ((y - half) * cos[view] - (x - half) * sin[view]) / radius)
                s = ((x - half) * cos[view] + (y - half) * sin[view]) * u / pitch + middle
                if s >= 0.0 and s < bins + 1.0:
                    i = int(s)
                    weight = u if power == 1 else u * u
                    w = s - i
                    near, far = lanes.dtype.type(weight * (1.0 - w)), lanes.dtype.type(weight * w)
                    gather(target, y * n + x, source, view * columns + i, near, far)


@compile_loop()
def pixels_transposed(image, cos, sin, radius, pitch, power, out, start, stop):  # type: ignore[no-untyped-def]
    """Image (y, x, lane) -> views (view, 1 + bin + 2, lane), the views start..stop."""
    columns = out.shape[1]
    n = image.shape[1]
    half, middle, bins = 0.5 * (n - 1), 0.5 * (columns - 4) + 1.0, columns - 3
    source, target = image.reshape(-1), out.reshape(-1)
    for view in range(start, stop):
        for y in range(n):
            for x in range(n):
                u = 1.0 / (1.0 + ((y - half) * cos[view] - (x - half) * sin[view]) / radius)
                s = ((x - half) * cos[view] + (y - half) * sin[view]) * u / pitch + middle
                if s >= 0.0 and s < bins + 1.0:
                    i = int(s)
                    weight = u if power == 1 else u * u
                    w = s - i
                    near, far = image.dtype.type(weight * (1.0 - w)), image.dtype.type(weight * w)
                    scatter(target, view * columns + i, source, y * n + x, near, far)


