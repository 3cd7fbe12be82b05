"""Metal of the head and of soft tissue: clips, coils, seeds, leads, pacemakers, ports, wires, cochlear implants."""

from __future__ import annotations

import numpy as np

from acdnet.physics.implants.solid.scene import NoRoom, Scene
from acdnet.physics.implants.solid.shafts import surface
from acdnet.physics.implants.solid.solids import (
    Solid,
    Vector,
    axes_of,
    box,
    cylinder,
    ellipsoid,
    ring,
    rod,
    screw,
    tangle,
    tube,
)

Rng = np.random.Generator


def _tissue(scene: Scene, least_mm: float, rng: Rng) -> Vector:
    """Choose a place in soft tissue some millimetres below the skin, at any height."""
    soft = (scene.depth > least_mm) & ~scene.bone[scene.middle] & (scene.hu[scene.middle] > -200)
    if not soft.any():
        soft = (scene.depth > 0.5 * scene.depth.max()) & ~scene.bone[scene.middle]
    return np.asarray(scene.pick(soft, rng, scene.middle) + np.array([0, 0, rng.uniform(-0.5, 0.5) * scene.span]))


def _clip(at: Vector, length: float, r: float, rng: Rng) -> list[Solid]:
    """Return a clip: two legs that meet."""
    way, other = rng.normal(0, 1, 3), rng.normal(0, 1, 3)
    way = way / np.linalg.norm(way)
    gap = rng.uniform(1.2, 3.0) * r * other / np.linalg.norm(other)
    return tube([at + gap, at + length * way, at - gap], r)


def clips(scene: Scene, rng: Rng) -> list[Solid]:
    """Scatter surgical clips."""
    first, spread = _tissue(scene, 12, rng), rng.uniform(4, 22)
    length, r = rng.uniform(3.5, 9), rng.uniform(0.4, 0.9)
    parts = []
    for k in range(rng.integers(1, 9)):
        at = first + rng.normal(0, spread, 3) * (1, 1, 0.7) if k else first
        parts += _clip(at, length, r, rng)
    return parts


def aneurysm_clip(scene: Scene, rng: Rng) -> list[Solid]:
    """Put one or two larger clips on vessels of the brain."""
    parts: list[Solid] = []
    for _ in range(rng.integers(1, 3)):
        at = _tissue(scene, 25, rng)
        parts += _clip(at, rng.uniform(9, 16), rng.uniform(0.7, 1.1), rng)
        parts.append(ring(rng.uniform(1.8, 2.6), 0.7).at(at, rng.normal(0, 1, 3)))
    return parts


def coil(scene: Scene, rng: Rng) -> list[Solid]:
    """Fill a vessel with a coil of wire."""
    size = float(np.exp(rng.uniform(np.log(2), np.log(9))))
    half = size * rng.uniform(0.7, 1.3, 3)
    at = _tissue(scene, 20, rng)
    if size > 4 and rng.random() < 0.5:
        return [tangle(half, rng.uniform(0.5, 1.2), rng.uniform(0, 6)).at(at, rng.normal(0, 1, 3))]
    return [ellipsoid(*half).at(at, rng.normal(0, 1, 3))]


def fiducials(scene: Scene, rng: Rng) -> list[Solid]:
    """Put gold seeds into soft tissue."""
    first = _tissue(scene, 30, rng)
    r, length, spread = rng.uniform(0.4, 0.8), rng.uniform(3, 7), rng.uniform(6, 15)
    ways = [rng.normal(0, 1, 3) for _ in range(rng.integers(2, 7))]
    return [rod(r, length).at(first + rng.normal(0, spread, 3) * (k > 0), way) for k, way in enumerate(ways)]


def _wander(start: Vector, span: float, rng: Rng) -> Vector:
    """Return a smooth line that passes through the slices."""
    count = 14
    steps = np.cumsum(np.cumsum(rng.normal(0, 1, (count, 2)), 0), 0) * rng.uniform(0.3, 1.5)
    z = np.linspace(-span / 2 - 15, span / 2 + 15, count)
    return np.column_stack([start[0] + steps[:, 0] - steps[count // 2, 0], start[1] + steps[:, 1], z])


def leads(scene: Scene, rng: Rng) -> list[Solid]:
    """Run leads of a pacemaker through vessels and heart; some turn and run within the slice."""
    front = scene.band((0.25, 0.75), (0.1, 0.75)) & (scene.depth > 30)
    parts: list[Solid] = []
    for _ in range(rng.integers(1, 4)):
        start = scene.pick(front, rng, scene.middle)
        r = rng.uniform(0.7, 1.4)
        if rng.random() < 0.6:
            parts += tube(_wander(start, scene.span, rng), r)
        else:
            bend, turn = rng.uniform(15, 45), rng.uniform(0, 2 * np.pi)
            at = np.linspace(0, rng.uniform(0.5, 2.0), 12)
            line = [start + bend * np.array([np.cos(turn + a), np.sin(turn + a), rng.normal(0, 0.02)]) for a in at]
            parts += tube(np.array(line) - np.array(line).mean(0) + start, r)
            if rng.random() < 0.4:  # the thick coil of a defibrillator
                parts += tube(np.array(line[:6]) - np.array(line).mean(0) + start, 2.2 * r)
    return parts


def _under_skin(scene: Scene, mm: tuple[float, float], rng: Rng) -> tuple[Vector, Vector]:
    """Choose a place under the skin of the chest, and the direction to the skin."""
    near = (scene.depth > mm[0]) & (scene.depth < mm[1]) & scene.band((0.12, 0.88), (0.0, 0.4))
    at = scene.pick(near, rng, scene.middle)
    middle = np.array([(scene.box[0] + scene.box[1]) / 2, (scene.box[2] + scene.box[3]) / 2, 0])
    way = (at - middle) / (scene.box[1] - scene.box[0], scene.box[3] - scene.box[2], 1)
    way[2] = rng.normal(0, 0.1) * np.hypot(*way[:2])
    return at, np.asarray(way / np.linalg.norm(way))


def pacemaker(scene: Scene, rng: Rng) -> list[Solid]:
    """Put a pacemaker under the skin: a flat box with a battery; its leads run along it."""
    at, way = _under_skin(scene, (8, 25), rng)
    wide, high, thick = rng.uniform(38, 55), rng.uniform(35, 50), rng.uniform(6, 11)
    case = box(wide, high, thick, 0.4 * thick).without(box(wide - 2, 0.5 * high, thick - 1.6).at((0, 0.22 * high, 0)))
    at = at + np.array([0, 0, rng.uniform(-0.5, 0.5) * (scene.span + high)])
    parts = [case.at(at, way, rng.uniform(0, 2 * np.pi))]
    u, v, _ = axes_of(way, 0.0)
    for r in rng.uniform(0.45, 0.6, rng.integers(0, 3)):
        loop = [at + r * wide * (np.cos(a) * u + np.sin(a) * v) - 0.7 * thick * way for a in np.linspace(0, 4, 16)]
        parts += tube(loop, 1.0)
    return parts


def port(scene: Scene, rng: Rng) -> list[Solid]:
    """Put an infusion port under the skin: a drum with a chamber."""
    at, way = _under_skin(scene, (6, 22), rng)
    r, high = rng.uniform(8, 13), rng.uniform(7, 11)
    wall = rng.uniform(1.0, 2.0)
    chamber = cylinder(r - wall, high).at((0, 0, wall))
    at = at + np.array([0, 0, rng.uniform(-0.4, 0.4) * (scene.span + 2 * r)])
    return [cylinder(r, high).without(chamber).at(at - 0.5 * high * way, way)]


def sternal_wires(scene: Scene, rng: Rng) -> list[Solid]:
    """Wind wires around the breastbone."""
    at, _ = scene.solid_bone(scene.band((0.4, 0.6), (0.0, 0.3)), 4.0)
    r = rng.uniform(0.4, 0.75)
    step, first = rng.uniform(14, 24), rng.uniform(-12, 12)
    parts: list[Solid] = []
    for z in np.arange(first - 48, 60, step):
        middle = at + np.array([rng.normal(0, 2), rng.normal(0, 1), z - at[2]])
        wide, deep = rng.uniform(8, 13), rng.uniform(6, 9)
        lean = rng.normal(0, 0.25)
        a = np.linspace(0, 2 * np.pi, 17)
        parts += tube(middle + np.column_stack([wide * np.cos(a), deep * np.sin(a), lean * wide * np.cos(a)]), r)
        twist = middle + np.array([rng.uniform(-5, 5), -deep - r, 0])
        parts.append(rod(1.7 * r, rng.uniform(4, 8)).at(twist, rng.normal(0, 1, 3) * (1, 0.3, 0.6)))
    return parts


def cochlear(scene: Scene, rng: Rng) -> list[Solid]:
    """Wind an electrode in the petrous bone, and put its receiver under the scalp."""
    side = rng.choice((-1, 1))
    across = (0.08, 0.36) if side < 0 else (0.64, 0.92)
    ear, share = scene.solid_bone(scene.band(across, (0.35, 0.75)), 7.0)
    if share < 0.55:
        raise NoRoom
    ear = ear + np.array([0, 0, rng.uniform(-0.4, 0.4) * scene.span])
    turn = np.linspace(0, rng.uniform(6, 11), 26)
    radius = np.linspace(rng.uniform(3.5, 4.5), 1.5, 26)
    spiral = np.column_stack([side * 0.12 * turn, radius * np.cos(turn), radius * np.sin(turn)])
    parts = tube(ear + spiral, rng.uniform(0.3, 0.55))
    out = np.array([side * 1.0, 0.45, 0.0]) / np.hypot(1, 0.45)
    bone = surface(scene, ear, out, 60.0)
    receiver = ear + (bone + 3) * out + np.array([0, rng.uniform(0, 20), rng.uniform(-8, 35)])
    parts += tube([ear + spiral[0], ear + 0.7 * bone * out, receiver], rng.uniform(0.4, 0.7))
    r, thick = rng.uniform(8, 12), rng.uniform(2.5, 4.5)
    parts.append(cylinder(r, thick, rng.choice([0.0, 0.8 * r])).at(receiver, out))
    parts.append(cylinder(0.45 * r, thick).at(receiver, out))  # the magnet
    behind = receiver + np.array([-side * 2, 1.8 * r, 0])
    parts.append(box(thick, 1.3 * r, 1.6 * r, 1.0).at(behind))
    return parts


def mini_plates(scene: Scene, rng: Rng) -> list[Solid]:
    """Lay thin plates with short screws on the skull, or covers over holes drilled into it."""
    middle = np.array([(scene.box[0] + scene.box[1]) / 2, (scene.box[2] + scene.box[3]) / 2, 0])
    reach = 0.6 * (scene.box[3] - scene.box[2])
    parts: list[Solid] = []
    turn, thick = rng.uniform(0, 2 * np.pi), rng.uniform(0.6, 1.4)
    for _ in range(rng.integers(1, 6)):
        start = middle + np.array([0, 0, rng.uniform(-0.5, 0.5) * scene.span])
        angle = turn + rng.uniform(-0.9, 0.9)
        way = np.array([np.cos(angle), np.sin(angle), 0.0])
        at = start + (surface(scene, start, way, reach) + thick / 2) * way
        lean = way + rng.normal(0, 0.08, 3)
        if rng.random() < 0.35:
            parts.append(cylinder(rng.uniform(6, 10), thick, 1.5).at(at, lean))
            spots = [np.zeros(3)]
        else:
            along = np.cross(way, rng.normal(0, 1, 3))
            along = along / np.linalg.norm(along)
            half = rng.uniform(5, 12)
            flat = box(rng.uniform(3, 6), thick, 2 * half, 0.4 * thick)
            u, v, _ = axes_of(along, 0.0)
            parts.append(flat.at(at, along, float(np.arctan2(way @ v, way @ u)) - np.pi / 2))
            spots = [s * along for s in np.linspace(-0.8 * half, 0.8 * half, int(rng.integers(2, 5)))]
        parts += [screw(rng.uniform(3.5, 6), 0.7, 1.0, 0.7, 1.5).at(at + spot, -lean) for spot in spots]
    if not parts:
        raise NoRoom
    return parts
