"""Solids in millimetres: x points right, y to the back, z up.

A solid is a function that returns which points lie inside it, with a box around it. Primitives lie at the origin,
elongated ones along z from 0 to their length; `at` places them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acdnet.units import Mask

Numbers = NDArray[np.float32]
Vector = NDArray[np.float64]
UP = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Solid:
    """Points inside, and the corners of a box around them."""

    inside: Callable[[Numbers, Numbers, Numbers], Mask]
    low: Vector
    high: Vector

    def at(self, point: ArrayLike, along: ArrayLike = UP, turn: float = 0.0) -> Solid:
        """Rotate by `turn` around z, then z to the direction `along`, then move the origin to a point."""
        t, inside = np.asarray(point, float), self.inside
        axes = axes_of(along, turn)
        corners = np.array(list(product(*zip(self.low, self.high, strict=True)))) @ axes + t
        u, v, w = axes.astype(np.float32)
        px, py, pz = (np.float32(value) for value in t)

        def moved(x: Numbers, y: Numbers, z: Numbers) -> Mask:
            x, y, z = x - px, y - py, z - pz
            return inside(
                u[0] * x + u[1] * y + u[2] * z, v[0] * x + v[1] * y + v[2] * z, w[0] * x + w[1] * y + w[2] * z
            )

        return Solid(moved, corners.min(0), corners.max(0))

    def without(self, *others: Solid) -> Solid:
        """Cut out other solids."""

        def left(x: Numbers, y: Numbers, z: Numbers) -> Mask:
            mask = self.inside(x, y, z)
            for other in others:
                mask = mask & ~other.inside(x, y, z)
            return mask

        return Solid(left, self.low, self.high)

    def within(self, other: Solid) -> Solid:
        """Keep what lies in another solid, too."""
        low, high = np.maximum(self.low, other.low), np.minimum(self.high, other.high)
        return Solid(lambda x, y, z: self.inside(x, y, z) & other.inside(x, y, z), low, high)

    def bent(self, radius: float) -> Solid:
        """Bend the z axis towards x along a circle of some radius."""
        most = float(np.max(np.abs([self.low[2], self.high[2]])) ** 2 / (2 * radius))
        high = self.high + np.array([most, 0.0, 0.0])
        return Solid(lambda x, y, z: self.inside(x - z * z / np.float32(2 * radius), y, z), self.low, high)


def axes_of(along: ArrayLike, turn: float) -> Vector:
    """Return the rows x, y, z of a rotated frame."""
    w = np.asarray(along, float)
    w = w / np.linalg.norm(w)
    helper = np.array([1.0, 0.0, 0.0]) if abs(w[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    u = helper - w * (helper @ w)
    u = u / np.linalg.norm(u)
    v = np.cross(w, u)
    return np.array([np.cos(turn) * u + np.sin(turn) * v, np.cos(turn) * v - np.sin(turn) * u, w])


def _solid(inside: Callable[[Numbers, Numbers, Numbers], Mask], low: ArrayLike, high: ArrayLike) -> Solid:
    return Solid(inside, np.asarray(low, float), np.asarray(high, float))


def ellipsoid(a: float, b: float, c: float) -> Solid:
    """Return an ellipsoid with half axes a, b and c."""
    return _solid(lambda x, y, z: (x / a) ** 2 + (y / b) ** 2 + (z / c) ** 2 <= 1, (-a, -b, -c), (a, b, c))


def sphere(r: float) -> Solid:
    """Return a ball."""
    return ellipsoid(r, r, r)


def box(a: float, b: float, c: float, rounding: float = 0.0) -> Solid:
    """Return a box of sides a, b and c around the origin, with round edges."""

    def inside(x: Numbers, y: Numbers, z: Numbers) -> Mask:
        out = [np.maximum(np.abs(p) - np.float32(s / 2 - rounding), 0) for p, s in ((x, a), (y, b), (z, c))]
        return np.asarray(out[0] ** 2 + out[1] ** 2 + out[2] ** 2 <= rounding**2)

    return _solid(inside, (-a / 2, -b / 2, -c / 2), (a / 2, b / 2, c / 2))


def cylinder(r: float, length: float, bore: float = 0.0) -> Solid:
    """Return a cylinder along z from 0 to its length, with a hole of radius `bore`."""

    def inside(x: Numbers, y: Numbers, z: Numbers) -> Mask:
        away = x**2 + y**2
        return np.asarray((away <= r**2) & (away >= bore**2) & (z >= 0) & (z <= length))

    return _solid(inside, (-r, -r, 0), (r, r, length))


def rod(r: float, length: float) -> Solid:
    """Return a bar with round ends along z from 0 to its length."""

    def inside(x: Numbers, y: Numbers, z: Numbers) -> Mask:
        return np.asarray(x**2 + y**2 + (z - np.clip(z, 0, np.float32(length))) ** 2 <= r**2)

    return _solid(inside, (-r, -r, -r), (r, r, length + r))


def between(first: ArrayLike, last: ArrayLike, r: float) -> Solid:
    """Return a bar with round ends between two points."""
    a, b = np.asarray(first, float), np.asarray(last, float)
    return rod(r, float(np.linalg.norm(b - a))).at(a, b - a)


def tube(points: Sequence[ArrayLike] | Vector, r: float) -> list[Solid]:
    """Return a wire along a line of points, piece by piece."""
    return [between(a, b, r) for a, b in pairwise(np.asarray(points, float)) if np.linalg.norm(b - a) > 1e-6]


def taper(low: tuple[float, float], high: tuple[float, float], length: float, squareness: float = 2.0) -> Solid:
    """Return a tapered stem along z: its half axes go from `low` to `high`; squareness 2 is round, 4 nearly square."""

    def inside(x: Numbers, y: Numbers, z: Numbers) -> Mask:
        s = np.clip(z / length, 0, 1)
        a, b = low[0] + (high[0] - low[0]) * s, low[1] + (high[1] - low[1]) * s
        end = np.clip(1 + z / (2 * low[0]), 0, 1)  # a round tip
        return np.asarray(
            (np.abs(x / a) ** squareness + np.abs(y / b) ** squareness <= end**2) & (z >= -2 * low[0]) & (z <= length)
        )

    a, b = max(low[0], high[0]), max(low[1], high[1])
    return _solid(inside, (-a, -b, -2 * low[0]), (a, b, length))


def shell(outer: float, inner: float, opening: float = 0.0) -> Solid:
    """Return a hollow ball cut off at z = opening; the rest lies above."""

    def inside(x: Numbers, y: Numbers, z: Numbers) -> Mask:
        away = x**2 + y**2 + z**2
        return np.asarray((away <= outer**2) & (away >= inner**2) & (z >= opening))

    return _solid(inside, (-outer, -outer, max(opening, -outer)), (outer, outer, outer))


def ring(radius: float, r: float) -> Solid:
    """Return a ring around z."""

    def inside(x: Numbers, y: Numbers, z: Numbers) -> Mask:
        return np.asarray((np.hypot(x, y) - np.float32(radius)) ** 2 + z**2 <= r**2)

    return _solid(inside, (-radius - r, -radius - r, -r), (radius + r, radius + r, r))


def screw(length: float, core: float, thread: float, pitch: float, head: float = 0.0) -> Solid:
    """Return a screw along z with a thread that winds around it, a tip, and a head of some radius below z = 0."""

    def inside(x: Numbers, y: Numbers, z: Numbers) -> Mask:
        wave = 0.5 + 0.5 * np.cos(2 * np.pi * z / np.float32(pitch) - np.arctan2(y, x))
        r = (core + (thread - core) * wave) * np.clip((length - z) / np.float32(2.5 * core), 0.15, 1)
        away = x**2 + y**2
        return np.asarray(
            (away <= r**2) & (z >= 0) & (z <= length) | ((away <= head**2) & (z <= 0) & (z >= -0.9 * head))
        )

    wide = max(thread, head)
    return _solid(inside, (-wide, -wide, -0.9 * head), (wide, wide, length))


def tangle(half: Vector, wire: float, phase: float) -> Solid:
    """Return an ellipsoid loosely filled with wire, like an embolisation coil; its half axes are given."""
    a, b, c = (float(value) for value in half)

    def inside(x: Numbers, y: Numbers, z: Numbers) -> Mask:
        k = np.float32(np.pi / (2.2 * wire))
        weave = np.sin(k * x + phase) * np.cos(k * y) + np.sin(k * y) * np.cos(k * z) + np.sin(k * z) * np.cos(k * x)
        return np.asarray(((x / a) ** 2 + (y / b) ** 2 + (z / c) ** 2 <= 1) & (np.abs(weave) < 0.75))

    return _solid(inside, (-a, -b, -c), (a, b, c))
