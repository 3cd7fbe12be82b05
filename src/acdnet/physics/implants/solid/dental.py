"""Dental metal: fillings, crowns and bridges, implants and brackets."""

from __future__ import annotations

import numpy as np

from acdnet.physics.implants.solid.scene import NoRoom, Scene
from acdnet.physics.implants.solid.solids import Solid, Vector, box, cylinder, ellipsoid, rod, screw, tube

Rng = np.random.Generator
TOOTH_MM = 7.0
"""Distance of neighbouring teeth."""
MOST_GAP_MM = 20.0
"""Teeth further apart are not of one arch."""
LEAST_TEETH = 4
FRONT_MM = 12.0
"""An arch has a tooth this close to the middle of the face; the branches of the jawbone have none."""
LEAST_ENAMEL_MM2 = 12.0


def arch(scene: Scene) -> tuple[list[Vector], Vector]:
    """Return the places of the teeth in order along the arch, and the centre of the arch."""
    teeth = np.argwhere(scene.teeth)
    if len(teeth) * scene.pixel_mm**2 < LEAST_ENAMEL_MM2 * len(scene.hu):
        raise NoRoom
    points = np.array([scene.point(int(k), row, column) for k, row, column in teeth[:: max(1, len(teeth) // 4000)]])
    middle = (scene.box[0] + scene.box[1]) / 2
    centre = np.array([middle, points[:, 1].max() + 3.0, 0.0])
    angles = np.arctan2(points[:, 0] - centre[0], centre[1] - points[:, 1])
    radii = np.hypot(points[:, 0] - centre[0], points[:, 1] - centre[1])
    runs: list[list[Vector]] = [[]]
    for at in np.arange(-1.6, 1.6, 0.04):
        near = np.abs(angles - at) < 0.06
        if near.sum() < 3:
            continue
        r = float(np.median(radii[near]))
        tooth = np.array([centre[0] + r * np.sin(at), centre[1] - r * np.cos(at), np.median(points[near, 2])])
        gap = np.hypot(*(tooth - runs[-1][-1])[:2]) if runs[-1] else TOOTH_MM
        if gap > MOST_GAP_MM:
            runs.append([tooth])
        elif gap >= TOOTH_MM:
            runs[-1].append(tooth)
    found = max(runs, key=len)
    if len(found) < LEAST_TEETH or min(abs(tooth[0] - middle) for tooth in found) > FRONT_MM:
        raise NoRoom
    return found, centre


def _outwards(tooth: Vector, centre: Vector) -> Vector:
    way = (tooth - centre) * (1, 1, 0)
    return np.asarray(way / max(float(np.linalg.norm(way)), 1e-6))


def fillings(scene: Scene, rng: Rng) -> list[Solid]:
    """Fill some teeth."""
    teeth, _ = arch(scene)
    parts = []
    for n in rng.permutation(len(teeth))[: rng.integers(1, 7)]:
        at = teeth[n] + rng.normal(0, 1.2, 3) + np.array([0, 0, rng.uniform(-0.3, 0.3) * scene.span])
        parts.append(ellipsoid(*rng.uniform(0.8, 3.2, 3)).at(at, rng.normal(0, 1, 3)))
        if rng.random() < 0.2:  # a post in the root
            parts.append(rod(rng.uniform(0.5, 0.9), rng.uniform(6, 11)).at(at, (0, 0, rng.choice((-1.0, 1.0)))))
    return parts


def _crown(at: Vector, way: Vector, rng: Rng, solid: bool) -> Solid:
    a, b, high = rng.uniform(3.2, 4.6), rng.uniform(3.4, 5.2), rng.uniform(5, 8)
    cap = ellipsoid(a, b, high)
    wall = rng.uniform(0.6, 1.4)
    hollow = ellipsoid(a - wall, b - wall, high - wall).at((0, 0, -1.0))
    up = rng.choice((-1.0, 1.0))
    return (cap if solid else cap.without(hollow)).at(at, (0, 0, up), float(np.arctan2(way[1], way[0])))


def crowns(scene: Scene, rng: Rng) -> list[Solid]:
    """Put crowns on neighbouring teeth, joined to a bridge over missing ones."""
    teeth, centre = arch(scene)
    parts: list[Solid] = []
    for _ in range(rng.integers(1, 4)):
        first, count = int(rng.integers(len(teeth))), int(rng.integers(1, 5))
        bridge = [tooth + np.array([0, 0, 0.2 * scene.span * rng.normal()]) for tooth in teeth[first : first + count]]
        for n, tooth in enumerate(bridge):
            parts.append(_crown(tooth, _outwards(tooth, centre), rng, solid=0 < n < len(bridge) - 1))
        if len(bridge) > 1:
            parts += tube(bridge, rng.uniform(1.2, 2.2))
    return parts


def dental_implants(scene: Scene, rng: Rng) -> list[Solid]:
    """Screw implants into the jaw, some with a crown."""
    teeth, centre = arch(scene)
    parts: list[Solid] = []
    for n in rng.permutation(len(teeth))[: rng.integers(1, 5)]:
        up = rng.choice((-1.0, 1.0))
        r, length = rng.uniform(1.6, 2.5), rng.uniform(8, 14)
        start = teeth[n] + np.array([0, 0, rng.uniform(-0.5, 0.5) * (scene.span + length)])
        way = np.array([*rng.normal(0, 0.12, 2), up])
        parts += [screw(length, 0.8 * r, r, 0.9).at(start, way), cylinder(0.75 * r, 5, 0.3 * r).at(start, -way)]
        if rng.random() < 0.5:
            parts.append(_crown(start - 5 * way, _outwards(teeth[n], centre), rng, solid=False))
    return parts


def brackets(scene: Scene, rng: Rng) -> list[Solid]:
    """Glue brackets to the teeth and run a wire through them; or only a wire behind them."""
    teeth, centre = arch(scene)
    behind = rng.random() < 0.25
    height = rng.uniform(-0.4, 0.4) * scene.span
    line, parts = [], []
    for tooth in teeth:
        way = _outwards(tooth, centre)
        at = tooth + way * (-rng.uniform(3, 4) if behind else rng.uniform(3.5, 4.5))
        at[2] = height + rng.normal(0, 0.4)
        line.append(at)
        if not behind:
            turn = float(np.arctan2(way[1], way[0]))
            parts.append(
                box(rng.uniform(1.2, 2.0), rng.uniform(2.5, 3.5), rng.uniform(2.5, 3.5), 0.3).at(at, turn=turn)
            )
    return parts + tube(line, rng.uniform(0.2, 0.5))
