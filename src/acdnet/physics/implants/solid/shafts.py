"""Fixation of bones: nails, plates, screws and wires."""

from __future__ import annotations

import numpy as np

from acdnet.physics.implants.solid.joints import shafts
from acdnet.physics.implants.solid.scene import Bone, NoRoom, Scene
from acdnet.physics.implants.solid.solids import Solid, Vector, axes_of, box, cylinder, ring, rod, screw, tube

Rng = np.random.Generator
NARROWEST_MARROW_MM = 3.0
"""Radius of the marrow below which no nail fits; children and ribs."""


def surface(scene: Scene, start: Vector, way: Vector, reach: float) -> float:
    """Return how far the bone reaches from a point in a direction, in mm; at most `reach`."""
    at = np.arange(0, reach, 0.5 * scene.pixel_mm)
    inside = [scene.bone[scene.pixel(start + step * way)] for step in at]
    if not any(inside):
        raise NoRoom
    return float(at[np.nonzero(inside)[0][-1]])


def _across(bone: Bone, angle: float) -> Vector:
    """Return a direction across a bone."""
    way = np.array([np.cos(angle), np.sin(angle), 0.0])
    way = way - bone.axis * (way @ bone.axis)
    return np.asarray(way / np.linalg.norm(way))


def nail(scene: Scene, rng: Rng) -> list[Solid]:
    """Put a nail into the marrow along the bone, with locking screws across it."""
    bones = [bone for bone in shafts(scene, 6.0) if bone.inner >= NARROWEST_MARROW_MM and bone.outer < 26]
    if not bones:
        raise NoRoom
    bone = bones[rng.integers(min(2, len(bones)))]
    r = float(min(rng.uniform(4.0, 6.5), max(0.95 * bone.inner, 3.0)))
    length = rng.uniform(180, 400)
    low = rng.uniform(-length - scene.span / 2 + 8, scene.span / 2 - 8)
    bore = r * rng.uniform(0.35, 0.6) if rng.random() < 0.6 else 0.0
    parts = [cylinder(r, length, bore).at(bone.at(low), bone.axis)]
    if rng.random() < 0.6:  # locking screws near, as at the end of a nail
        for k in range(rng.integers(1, 4)):
            way = _across(bone, rng.uniform(0, 2 * np.pi))
            middle = bone.at(rng.uniform(-0.6, 0.6) * scene.span + 12 * k)
            half = bone.outer + rng.uniform(2, 5)
            parts.append(screw(2 * half, 1.9, 2.5, 1.4, 3.8).at(middle - half * way, way))
    if "hip" in scene.sites and rng.random() < 0.4:  # the screw into the femoral neck
        way = np.array([np.sign(-bone.point[0] + 1e-3), rng.uniform(-0.3, 0.1), rng.uniform(0.6, 1.0)])
        parts.append(screw(rng.uniform(70, 95), 4.0, 5.5, 3.0).at(bone.at(rng.uniform(-30, 10)), way))
    return parts


def plate(scene: Scene, rng: Rng) -> list[Solid]:
    """Lay a plate along a long bone, with screws through the bone; sometimes two plates."""
    bones = shafts(scene, 4.0)
    bone = bones[rng.integers(min(3, len(bones)))]
    if bone.outer > 35:
        raise NoRoom
    small = float(np.clip(bone.outer / 13, 0.4, 1.1))
    parts, angle = [], rng.uniform(0, 2 * np.pi)
    for side in range(2 if rng.random() < 0.15 else 1):
        way = _across(bone, angle + side * rng.uniform(1.3, 3.1))
        wide, thick = small * rng.uniform(12, 18), small * rng.uniform(3.5, 5.5)
        length = rng.uniform(60, 220)
        low = rng.uniform(-length - scene.span / 2 + 8, scene.span / 2 - 8)
        away = surface(scene, bone.point, way, 2.5 * bone.outer) + thick / 2
        turn = _turn(bone.axis, way)
        middle = bone.at(low + length / 2) + away * way
        slab = box(thick, wide, length, 0.3 * thick).at(middle, bone.axis, turn)
        step, first = small * rng.uniform(12, 20), rng.uniform(4, 12)
        for k in range(int((length - first) // step) + 1):
            if rng.random() < 0.75:
                head = bone.at(low + first + k * step) + (away + thick / 2) * way
                lean = -way + bone.axis * rng.normal(0, 0.08)
                deep = away + bone.outer + rng.uniform(-2, 4)
                core = small * 1.9
                parts.append(screw(deep, core, 1.35 * core, 1.5 * small, 2 * core).at(head, lean))
        parts.append(slab)
    return parts


def _turn(axis: Vector, way: Vector) -> float:
    """Return the rotation around an axis that brings the x axis of its frame to a direction."""
    u, v, _ = axes_of(axis, 0.0)
    return float(np.arctan2(way @ v, way @ u))


def cerclage(scene: Scene, rng: Rng) -> list[Solid]:
    """Wind wires around a long bone."""
    bone = shafts(scene, 6.0)[0]
    if bone.outer > 26:
        raise NoRoom
    parts, r = [], rng.uniform(0.5, 1.0)
    for _ in range(rng.integers(1, 4)):
        middle = bone.at(rng.uniform(-0.5, 0.5) * scene.span)
        tilt = bone.axis + rng.normal(0, 0.15, 3)
        around = bone.outer * rng.uniform(1.08, 1.2) + r
        parts.append(ring(around, r).at(middle, tilt))
        way = _across(bone, rng.uniform(0, 2 * np.pi))
        parts.append(rod(1.6 * r, rng.uniform(4, 9)).at(middle + around * way, way + rng.normal(0, 0.5, 3)))
    return parts


def screws(scene: Scene, rng: Rng) -> list[Solid]:
    """Put some screws into bone, nearly parallel, as after a fracture or a fusion."""
    start = scene.pick(scene.bone, rng)
    near = min((bone.outer for bone in scene.long_bones), default=15.0)
    r = float(np.clip(0.18 * near, 1.0, 3.2)) * rng.uniform(0.8, 1.1)
    flat = rng.normal(0, 1, 3) * (1, 1, 0.45)
    parts: list[Solid] = []
    for _ in range(rng.integers(1, 4)):
        length = rng.uniform(9, 18) * r
        bore = cylinder(0.4 * r, 2 * length).at((0, 0, -0.5 * length))
        one = screw(length, 0.75 * r, r, 1.1 * r, 1.6 * r)
        one = one.without(bore) if rng.random() < 0.4 else one
        way = flat / np.linalg.norm(flat) + rng.normal(0, 0.12, 3)
        at = start + rng.normal(0, 6, 3) if parts else start
        parts.append(one.at(at - 0.5 * length * way, way))
    return parts


def k_wires(scene: Scene, rng: Rng) -> list[Solid]:
    """Put thin wires through small bones."""
    parts = []
    for _ in range(rng.integers(1, 4)):
        start = scene.pick(scene.bone, rng)
        way = rng.normal(0, 1, 3) * (0.6, 0.6, 1)
        way = way / np.linalg.norm(way)
        length = rng.uniform(20, 60)
        parts += tube([start - 0.5 * length * way, start + 0.5 * length * way], rng.uniform(0.5, 1.1))
    return parts
