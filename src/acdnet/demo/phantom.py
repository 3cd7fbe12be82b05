"""Body slices made of ellipses, with metal where metal is found: hips, teeth, spine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

AIR, FAT, MUSCLE, ORGAN, MARROW, CORTEX = -1000.0, -100.0, 50.0, 40.0, 150.0, 1000.0
METAL = 8000.0
"""HU of the tissues, and of metal as far as the pictures go."""


@dataclass(frozen=True)
class Phantom:
    """A clean slice in HU and where its metal goes."""

    hu: NDArray[np.float32]
    metal: NDArray[np.bool_]


def make_phantom(site: str, rng: np.random.Generator, size: int = 256) -> Phantom:
    """Make a random slice of a body site: `hip`, `teeth` or `spine`."""
    canvas = _Canvas(size, rng)
    metal = {"hip": _hip, "teeth": _teeth, "spine": _spine}[site](canvas, rng)
    return Phantom(canvas.finish(), metal)


SITES = ("hip", "teeth", "spine")


class _Canvas:
    """A picture in HU on the square [-1, 1]^2, painted shape by shape."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        axis = np.linspace(-1.0, 1.0, size)
        self.y, self.x = np.meshgrid(axis, axis, indexing="ij")
        self.rng = rng
        self.hu = np.full((size, size), AIR)

    def inside(self, x: float, y: float, a: float, b: float, turn: float = 0.0) -> NDArray[np.bool_]:
        """Tell which pixels lie in the ellipse with centre (x, y), half axes a, b, turned by `turn` radians."""
        dx, dy = self.x - x, self.y - y
        u, v = dx * np.cos(turn) + dy * np.sin(turn), dy * np.cos(turn) - dx * np.sin(turn)
        mask: NDArray[np.bool_] = (u / a) ** 2 + (v / b) ** 2 <= 1.0
        return mask

    def ellipse(self, x: float, y: float, a: float, b: float, hu: float, turn: float = 0.0) -> None:
        self.hu[self.inside(x, y, a, b, turn)] = hu

    def bone(self, x: float, y: float, a: float, b: float, turn: float = 0.0, cortex: float = 0.25) -> None:
        """Paint dense cortex round softer marrow."""
        self.ellipse(x, y, a, b, CORTEX * self.rng.uniform(0.7, 1.1), turn)
        self.ellipse(x, y, a * (1 - cortex), b * (1 - cortex), MARROW * self.rng.uniform(0.6, 1.4), turn)

    def body(self, a: float, b: float, fat: float) -> None:
        self.ellipse(0, 0, a, b, FAT)
        self.ellipse(0, 0, a - fat, b - fat, MUSCLE)

    def finish(self) -> NDArray[np.float32]:
        """Soften the edges as a scanner does, and give tissue its texture."""
        texture = gaussian_filter(self.rng.normal(0.0, 1.0, self.hu.shape), 1.0)
        texture *= 10.0 / texture.std()
        image = gaussian_filter(self.hu, 0.6)
        finished: NDArray[np.float32] = np.where(image > -500, image + texture, image).astype(np.float32)
        return finished


def _hip(c: _Canvas, rng: np.random.Generator) -> NDArray[np.bool_]:
    c.body(0.88 * rng.uniform(0.95, 1.05), 0.6 * rng.uniform(0.9, 1.1), 0.08)
    c.ellipse(0, -0.1, 0.3, 0.25, ORGAN)
    c.ellipse(rng.uniform(-0.1, 0.1), -0.15, 0.12, 0.1, 5.0)
    c.bone(0, 0.38, 0.2, 0.09)
    sides = (-1, 1) if rng.random() < 0.4 else (rng.choice((-1, 1)),)
    metal = np.zeros(c.hu.shape, bool)
    for side in (-1, 1):
        x, y = side * 0.52, 0.05 + rng.uniform(-0.05, 0.05)
        c.bone(side * 0.42, y - 0.12, 0.08, 0.22, side * 0.5)
        c.bone(x, y, 0.16, 0.16)
        c.bone(side * 0.68, y + 0.06, 0.1, 0.13)
        if side in sides:
            a, b = rng.uniform(0.07, 0.13, 2)
            metal |= c.inside(x, y, a, b, rng.uniform(0, np.pi))
            if rng.random() < 0.5:
                metal |= c.inside(side * 0.64, y + 0.05, 0.09, 0.04, side * 0.4)
    return metal


def _teeth(c: _Canvas, rng: np.random.Generator) -> NDArray[np.bool_]:
    c.body(0.6 * rng.uniform(0.95, 1.1), 0.78 * rng.uniform(0.95, 1.05), 0.05)
    c.ellipse(0, 0.1, 0.12, 0.14, AIR)
    c.bone(0, 0.5, 0.12, 0.1)
    metal = np.zeros(c.hu.shape, bool)
    angles = np.linspace(-0.1, np.pi + 0.1, 15)
    filled = rng.choice(len(angles), rng.integers(1, 5), replace=False)
    for k, angle in enumerate(angles):
        x, y = 0.36 * np.cos(angle), -0.12 - 0.42 * np.sin(angle)
        c.bone(x, y, 0.05, 0.075, angle + np.pi / 2, cortex=0.5)
        if k in filled:
            a, b = rng.uniform(0.02, 0.045, 2)
            metal |= c.inside(x, y, a, b, angle)
    return metal


def _spine(c: _Canvas, rng: np.random.Generator) -> NDArray[np.bool_]:
    c.body(0.85 * rng.uniform(0.95, 1.05), 0.65 * rng.uniform(0.9, 1.1), 0.1)
    for side in (-1, 1):
        c.ellipse(side * 0.4, -0.05, 0.2, 0.28, rng.choice((AIR + 150, ORGAN, ORGAN + 60)))
    c.ellipse(-0.05, -0.25, 0.15, 0.12, 120.0)
    c.bone(0, 0.22, 0.16, 0.13)
    c.bone(0, 0.45, 0.05, 0.12)
    metal = np.zeros(c.hu.shape, bool)
    for side in (-1, 1):
        c.bone(side * 0.14, 0.36, 0.06, 0.08)
        if side == 1 or rng.random() < 0.7:
            metal |= c.inside(side * 0.1, 0.26, 0.018 * rng.uniform(1, 1.6), 0.13, -side * 0.4)
            a, b = rng.uniform(0.025, 0.04, 2)
            metal |= c.inside(side * 0.16, 0.42, a, b)
    return metal
