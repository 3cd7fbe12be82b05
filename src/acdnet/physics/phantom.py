"""Phantoms: random slices of pelvis, thorax and head, painted shape by shape.

They have skin, fat, muscle with seams of fat, organs with texture, air, and bone with a cortex and spongy marrow. Left
and right differ, so that a mirrored image is noticed. All sizes are in millimetres and vary between patients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from acdnet.errors import ConfigError
from acdnet.physics.implants.shapes import Sheet
from acdnet.units import Image, Mask

AIR, LUNG, FAT, WATER, BLOOD, MUSCLE, LIVER, MARROW, CORTEX, ENAMEL = (
    -1000.0, -830.0, -100.0, 5.0, 45.0, 55.0, 60.0, 180.0, 1050.0, 2200.0,
)  # fmt: skip

Rng = np.random.Generator
SLOPE, WIDENING = 0.15, 0.001
"""How much a body moves, and how much wider it becomes, in each mm along z."""
FAR_MM = 10_000.0
"""Heights are above minus this."""


@dataclass(frozen=True)
class Phantom:
    """A clean slice in HU, its pixel size, its site, and the implants that occur there."""

    hu: Image
    pixel_mm: float
    site: str
    kinds: tuple[str, ...]


def make_phantom(site: str, seed: int, size: int = 416, z_mm: float | None = None) -> Phantom:
    """Make a random slice of a site: `pelvis`, `thorax` or `head`.

    Slices of one seed at several heights `z_mm` are neighbours: the body moves, widens and narrows slowly, and every
    slice has texture and noise of its own.
    """
    if site not in SITES:
        raise ConfigError(f"no phantom of {site!r}; there are {', '.join(SITES)}")
    paint, field_mm, kinds = SITES[site]
    rng = np.random.default_rng([seed, sorted(SITES).index(site)])
    pixel_mm = field_mm * rng.uniform(0.95, 1.05) / size
    canvas = _Canvas(size, pixel_mm, rng)
    if z_mm is not None:
        canvas.sheet = _at_height(canvas.sheet, z_mm, seed)
    paint(canvas, rng)
    if z_mm is not None:
        canvas.rng = np.random.default_rng([seed, sorted(SITES).index(site), round(100 * (z_mm + FAR_MM))])
    return Phantom(canvas.finish(), pixel_mm, site, kinds)


def _at_height(sheet: Sheet, z_mm: float, seed: int) -> Sheet:
    """Move and scale the coordinates as the body does along z."""
    rng = np.random.default_rng([seed, 1])
    slopes, scales = rng.uniform(-SLOPE, SLOPE, 2), 1 + rng.uniform(-WIDENING, WIDENING, 2) * z_mm
    return Sheet(sheet.x * scales[0] + slopes[0] * z_mm, sheet.y * scales[1] + slopes[1] * z_mm)


class _Canvas:
    """A slice on which shapes are painted over each other."""

    def __init__(self, size: int, pixel_mm: float, rng: Rng) -> None:
        middle = (size - 1) / 2
        self.sheet = Sheet.at((size, size), middle, middle, pixel_mm)
        self.hu = np.full((size, size), AIR)
        self.spongy = np.zeros((size, size), bool)
        self.inside = np.ones((size, size), bool)
        self.pixel_mm = pixel_mm
        self.rng = rng

    def noise(self, mm: float) -> NDArray[np.float64]:
        """Return a random field of mean 0 and standard deviation 1, smooth over some millimetres."""
        field = gaussian_filter(self.rng.standard_normal(self.hu.shape), mm / self.pixel_mm, mode="wrap")
        scaled: NDArray[np.float64] = field / field.std()
        return scaled

    def at(self, x: float, y: float, turn: float = 0.0) -> Sheet:
        return self.sheet.moved(x, y, turn)

    def blob(self, x: float, y: float, a: float, b: float, turn: float = 0.0, rough: float = 0.06) -> Mask:
        """Return an ellipse with an irregular outline."""
        near = 1.5 * max(a, b)
        rows, columns = np.abs(self.sheet.y[:, 0] - y) <= near, np.abs(self.sheet.x[0] - x) <= near
        window = np.ix_(rows, columns)
        sheet = Sheet(self.sheet.x[window], self.sheet.y[window]).moved(x, y, turn)
        angle = np.arctan2(sheet.y / b, sheet.x / a)
        waver = sum(self.rng.normal(0, rough / k) * np.cos(k * angle + self.rng.uniform(0, 6.3)) for k in range(2, 6))
        mask = np.zeros(self.hu.shape, bool)
        mask[window] = np.hypot(sheet.x / a, sheet.y / b) <= 1 + waver
        return mask

    def tissue(self, where: Mask, hu: float) -> None:
        """Paint inside the body."""
        where = where & self.inside
        self.hu[where] = hu
        self.spongy &= ~where

    def bone(self, x: float, y: float, a: float, b: float, turn: float = 0.0, cortex: float = 3.0) -> None:
        """Paint a bone: a dense cortex around spongy marrow."""
        state = self.rng.bit_generator.state
        self.tissue(self.blob(x, y, a, b, turn, 0.05), CORTEX * self.rng.uniform(0.75, 1.1))
        after = self.rng.bit_generator.state
        if min(a, b) > 1.3 * cortex:
            self.rng.bit_generator.state = state  # the same outline, smaller
            inside = self.blob(x, y, a - cortex, b - cortex, turn, 0.05)
            self.tissue(inside, MARROW)
            self.spongy |= inside & self.inside
        self.rng.bit_generator.state = after

    def body(self, a: float, b: float, fat: float, squareness: float = 2.4) -> None:
        """Paint skin, fat and a muscle wall; the outline lies between an ellipse and a rectangle."""

        def outline(shrunk: float) -> Mask:
            x, y = np.abs(self.sheet.x) / (a - shrunk), np.abs(self.sheet.y) / (b - shrunk)
            mask: Mask = x**squareness + y**squareness <= 1.0
            return mask

        self.tissue(outline(0.0), MUSCLE - 30)
        self.inside = outline(2.0)
        self.tissue(self.inside, FAT)
        self.tissue(outline(fat), MUSCLE)
        seams = (np.abs(self.noise(4.0)) < 0.12) & outline(fat + 2)
        self.tissue(seams, FAT + 40)

    def finish(self) -> Image:
        """Add texture and noise, and blur edges as a scanner does."""
        soft = (self.hu > -300) & ~self.spongy
        image = self.hu + np.where(soft, 9 * self.noise(2.5) + 5 * self.noise(7.0), 0.0)
        image += np.where(self.spongy, 90 * self.noise(0.8) + 40 * self.noise(3.0), 0.0)
        image += np.where((self.hu < -700) & (self.hu > -900), 60 * np.maximum(self.noise(1.5), -1.0), 0.0)
        smooth = gaussian_filter(image, 0.55 / self.pixel_mm)
        grain = np.where(smooth > -950, 7.0 * self.noise(0.6), 0.0)
        return np.asarray(np.maximum(smooth + grain, AIR), np.float32)


def _pelvis(c: _Canvas, rng: Rng) -> None:
    wide, deep = rng.uniform(165, 190), rng.uniform(100, 125)
    c.body(wide, deep, rng.uniform(14, 28))
    c.tissue(c.blob(0, -0.1 * deep, 0.42 * wide, 0.5 * deep), FAT + 15)
    for _ in range(rng.integers(4, 8)):  # bowel, some with gas
        x, y, r = rng.uniform(-60, 60), rng.uniform(-65, -10), rng.uniform(9, 17)
        c.tissue(c.blob(x, y, r, 0.8 * r), rng.uniform(15, 50))
        if rng.random() < 0.35:
            c.tissue(c.blob(x, y - 2, 0.6 * r, 0.4 * r), AIR + 50)
    c.tissue(c.blob(rng.uniform(2, 14), -20, rng.uniform(25, 38), rng.uniform(20, 28)), WATER)  # bladder
    c.tissue(c.blob(rng.uniform(-6, 2), 40, 16, 13), 30.0)  # rectum
    c.tissue(c.blob(rng.uniform(-6, 2), 40, 6, 5), AIR + 80)
    c.bone(0, rng.uniform(72, 80), rng.uniform(26, 34), 13)  # sacrum
    hip_x, hip_y = rng.uniform(92, 102), rng.uniform(2, 14)
    for side in (-1, 1):
        for _ in range(3):  # muscles of buttock and thigh, separated by fat
            x, y = side * rng.uniform(70, 130), rng.uniform(30, 75)
            c.tissue(c.blob(x, y, rng.uniform(22, 32), rng.uniform(14, 20), side * rng.uniform(0.2, 0.9)), MUSCLE + 5)
        c.bone(side * (hip_x - 27), hip_y - 4, 11, rng.uniform(36, 44), side * 0.35)  # acetabulum and column
        c.bone(side * hip_x, hip_y, rng.uniform(22, 26), rng.uniform(22, 26), cortex=2.5)  # femoral head
        c.bone(side * (hip_x + 32), hip_y + 12, rng.uniform(15, 19), rng.uniform(18, 23))  # trochanter
        c.bone(side * (hip_x + 18), hip_y + 6, 16, 11, side * 0.3)  # neck
        c.tissue(c.blob(side * (hip_x - 22), hip_y - 52, 6, 6), BLOOD + (70 if side > 0 else 90))  # femoral vessels


def _thorax(c: _Canvas, rng: Rng) -> None:
    wide, deep = rng.uniform(155, 180), rng.uniform(100, 122)
    c.body(wide, deep, rng.uniform(10, 24), 2.7)
    for side in (-1, 1):
        lung = c.blob(side * 0.5 * wide, rng.uniform(-12, -2), 0.38 * wide, 0.66 * deep)
        c.tissue(lung & (np.abs(c.sheet.x) > 20), LUNG)
        for _ in range(14):  # vessels in the lung
            x, y = side * rng.uniform(45, 120), rng.uniform(-45, 40)
            c.tissue(c.blob(x, y, rng.uniform(1.2, 4.0), rng.uniform(1.2, 4.0), rng.uniform(0, 3)) & lung, BLOOD)
    c.tissue(c.blob(rng.uniform(18, 30), -22, rng.uniform(48, 58), rng.uniform(36, 44), 0.4), BLOOD)  # heart
    c.tissue(c.blob(rng.uniform(20, 30), -26, 22, 17, 0.5), BLOOD + 90)  # a chamber with contrast
    if rng.random() < 0.5:
        c.tissue(c.blob(-80, 15, rng.uniform(40, 55), rng.uniform(35, 48)), LIVER)  # dome of the liver
    back = 0.55 * deep
    c.tissue(c.blob(rng.uniform(18, 24), back - 28, 11, 11), BLOOD + 60)  # aorta
    c.tissue(c.blob(rng.uniform(-4, 4), back - 26, 6, 5), 30.0)  # oesophagus
    c.bone(0, back, rng.uniform(17, 21), rng.uniform(15, 18), cortex=2.0)  # vertebra
    c.tissue(c.blob(0, back + 22, 9, 7), 30.0)  # spinal canal
    for side in (-1, 1):
        c.bone(side * 14, back + 20, 5, 9, -side * 0.5)  # pedicle and lamina
        c.bone(side * 30, back + 24, 16, 5, side * 0.3)  # transverse process
    c.bone(0, back + 38, 4, 11)  # spinous process
    c.bone(0, -0.86 * deep, rng.uniform(16, 21), 5.5, cortex=1.5)  # breastbone
    for angle in np.linspace(0.25, 2 * np.pi - 0.25, 16):  # ribs
        x, y = 0.84 * wide * np.sin(angle), -0.8 * deep * np.cos(angle)
        if abs(x) > 28:
            turn = np.arctan2(0.8 * deep * np.sin(angle), 0.84 * wide * np.cos(angle)) + rng.uniform(-0.1, 0.1)
            c.bone(x, y, rng.uniform(9, 15), 4.2, turn, cortex=1.6)


def _head(c: _Canvas, rng: Rng) -> None:
    wide, deep = rng.uniform(68, 76), rng.uniform(88, 98)
    c.body(wide, deep, rng.uniform(5, 9), 2.1)
    c.tissue(c.blob(0, -18, 34, 30), MUSCLE + 5)  # tongue
    c.tissue(c.blob(0, 18, rng.uniform(8, 13), rng.uniform(6, 10)), AIR)  # throat
    for side in (-1, 1):
        c.tissue(c.blob(side * 55, 5, 11, 24, side * 0.2), MUSCLE + 10)  # chewing muscle
        c.tissue(c.blob(side * 50, 40, 9, 12), rng.uniform(0, 30))  # parotid gland
        c.bone(side * 47, 12, 5, 22, side * 0.15)  # ramus of the jaw
        c.tissue(c.blob(side * 26, 40, 5, 5), BLOOD + 60 + 30 * side)  # vessels
    c.tissue(c.blob(0, 72, 40, 14), MUSCLE)  # neck
    c.bone(0, 45, rng.uniform(13, 16), 9, cortex=2.0)  # vertebra
    c.tissue(c.blob(0, 60, 8, 7), 30.0)  # spinal canal
    c.bone(rng.uniform(-1, 3), 75, 4, 8)
    for side in (-1, 1):
        c.bone(side * 20, 50, 9, 6)
    arch = rng.uniform(33, 37), rng.uniform(48, 54)
    for step in range(40):  # the arch of the jaw
        angle = np.pi * step / 39
        c.tissue(c.at(arch[0] * np.cos(angle), -14 - arch[1] * np.sin(angle)).disc(6.5), 500.0)
    for angle in np.linspace(0.08, np.pi - 0.08, 14):  # teeth: enamel, dentine, pulp
        x, y = arch[0] * np.cos(angle), -arch[1] * np.sin(angle)
        tooth = c.at(x, y - 14, np.arctan2(y, x))
        broad = 4.6 if abs(np.cos(angle)) > 0.6 else 3.4
        for shrink, hu in ((0.0, ENAMEL), (1.2, 1500.0), (2.7, 100.0)):
            c.tissue(tooth.ellipse(5.2 - shrink, broad - shrink), hu * rng.uniform(0.95, 1.05))


SITES: dict[str, tuple[Callable[[_Canvas, Rng], None], float, tuple[str, ...]]] = {
    "pelvis": (_pelvis, 420.0, ("hip-stem", "hip-cup")),
    "thorax": (_thorax, 400.0, ("spine-screws", "spine-rods", "sternal-wires", "leads", "pacemaker")),
    "head": (_head, 230.0, ("fillings",)),
}
"""Painter, side of the slice in mm, and implants of each site."""
