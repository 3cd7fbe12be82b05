"""Implants of the spine: screws with rods, cages, and plates of the neck."""

from __future__ import annotations

import numpy as np

from acdnet.physics.implants.solid.scene import NoRoom, Scene
from acdnet.physics.implants.solid.solids import Solid, Vector, box, cylinder, rod, screw, tube

Rng = np.random.Generator
BEHIND_HEART = 0.5
"""Vertebrae of the trunk lie behind this share of its depth, the heart and great vessels with contrast before it."""
LEVELS = {
    "neck": (5.0, 14.0, 18.0, (18, 24), (12, 20), (14, 22)),
    "thorax": (8.0, 22.0, 28.0, (13, 19), (26, 34), (30, 42)),
    "abdomen": (9.0, 30.0, 38.0, (17, 25), (30, 40), (38, 52)),
}
"""Size and distances of vertebrae, how far aside and behind their middle screws begin, and their lengths; mm."""


def vertebra(scene: Scene) -> Vector:
    """Return the middle of a vertebra."""
    level = _level(scene)
    band = scene.band((0.4, 0.6), (0.25 if level == "neck" else BEHIND_HEART, 0.85))
    point, share = scene.solid_bone(band, LEVELS[level][0], 0.9)
    if share < 0.5:
        raise NoRoom
    return np.asarray(point + np.array([0, 2.0, 0]))


def _level(scene: Scene) -> str:
    return next((site for site in ("neck", "thorax") if site in scene.sites), "abdomen")


def spine_screws(scene: Scene, rng: Rng) -> list[Solid]:
    """Put pedicle screws into vertebrae, and rods through their heads."""
    middle = vertebra(scene)
    _, least, most, aside, behind, lengths = LEVELS[_level(scene)]
    step, first = rng.uniform(least, most), rng.uniform(-most, most)
    x, y = rng.uniform(*aside), rng.uniform(*behind)
    r = rng.uniform(1.8, 2.6) if least < 20 else rng.uniform(2.5, 3.6)
    rods = rng.uniform(1.6, 2.0) if least < 20 else rng.uniform(2.4, 3.2)
    count = int(rng.integers(2, 6))
    sides = (-1, 1) if rng.random() < 0.85 else (int(rng.choice((-1, 1))),)
    parts: list[Solid] = []
    for side in sides:
        heads = []
        for k in range(count):
            z = (first + (k - count // 2) * step) + rng.normal(0, 1)
            head = np.array([middle[0] + side * x + rng.normal(0, 1), middle[1] + y + rng.normal(0, 1.5), z])
            way = np.array([middle[0] + side * rng.uniform(3, 9), middle[1] - 4, z + rng.normal(0, 3)]) - head
            heads.append(head - 4 * way / np.linalg.norm(way))
            if rng.random() < 0.9:
                parts.append(screw(rng.uniform(*lengths), 0.72 * r, r, 0.8 * r).at(head, way))
                tulip = cylinder(2.1 * rods, 5 * rods).without(box(9 * rods, 2.0 * rods, 9 * rods))
                solid = rng.random() < 0.5
                parts.append((cylinder(2.1 * rods, 5 * rods) if solid else tulip).at(heads[-1], -way))
        up = np.array([0, 0, rng.uniform(5, 15)])
        parts += tube([heads[0] - up, *heads, heads[-1] + up], rods)
    if rng.random() < 0.2 and len(sides) == 2:  # a link between the rods
        z = rng.uniform(-0.4, 0.4) * scene.span
        ends = [np.array([middle[0] + side * x, middle[1] + y + 4, z]) for side in sides]
        parts += tube(ends, 0.8 * rods)
    return parts


def cage(scene: Scene, rng: Rng) -> list[Solid]:
    """Put a cage between two vertebrae, or a mesh in place of one."""
    middle = vertebra(scene) + np.array([rng.normal(0, 4), rng.normal(0, 4), rng.uniform(-0.6, 0.6) * scene.span])
    size = 0.55 if _level(scene) == "neck" else 0.8 if _level(scene) == "thorax" else 1.0
    turn = rng.uniform(-0.3, 0.3)
    if rng.random() < 0.3:
        r, length = size * rng.uniform(9, 12), size * rng.uniform(25, 60)
        return [cylinder(r, length, r - rng.uniform(1.5, 2.5)).at(middle - (0, 0, length / 2))]
    wide, deep, high = size * rng.uniform(20, 34), size * rng.uniform(18, 24), size * rng.uniform(8, 14)
    outer = box(wide, deep, high, 2.0)
    if rng.random() < 0.35:  # plastic, with markers of metal
        spots = [(sx * wide / 2.4, sy * deep / 2.4, -high / 2) for sx in (-1, 1) for sy in (-1, 1)]
        return [rod(0.7, high).at(spot).at(middle, turn=turn) for spot in spots]
    hole = box(wide - rng.uniform(5, 9), deep - rng.uniform(5, 9), 2 * high, 1.0)
    return [outer.without(hole).at(middle, turn=turn)]


def neck_plate(scene: Scene, rng: Rng) -> list[Solid]:
    """Lay a plate in front of vertebrae of the neck, with screws into them."""
    middle = vertebra(scene)
    front = middle + np.array([0, -rng.uniform(7, 10), rng.uniform(-25, 25)])
    step, count = rng.uniform(15, 19), int(rng.integers(2, 5))
    thick = rng.uniform(1.8, 2.6)
    length = (count - 1) * step + 12
    parts = [box(rng.uniform(14, 18), thick, length, 0.4 * thick).at(front)]
    for k in range(count):
        z = (k - (count - 1) / 2) * step
        for side in (-1, 1):
            way = np.array([-side * 0.12, 1.0, rng.normal(0, 0.1)])
            parts.append(screw(rng.uniform(12, 17), 1.4, 2.0, 1.4, 2.6).at(front + np.array([side * 5, 0, z]), way))
    return parts
