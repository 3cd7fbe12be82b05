"""Joint replacements: hip, knee and shoulder."""

from __future__ import annotations

import numpy as np

from acdnet.physics.implants.solid.scene import Bone, NoRoom, Scene
from acdnet.physics.implants.solid.solids import (
    Solid,
    Vector,
    between,
    box,
    cylinder,
    ellipsoid,
    rod,
    shell,
    sphere,
    taper,
)

Rng = np.random.Generator
LEAST_SHAFT_MM = 9.0
"""Smallest radius of a femur or humerus."""
LEAST_HEAD, LEAST_ARM = 0.72, 0.4
"""Share of bone within `HEAD_MM` of the centre of a hip, and of a shoulder."""
HEAD_MM = 12.0


def shafts(scene: Scene, least: float = LEAST_SHAFT_MM) -> list[Bone]:
    """Return the long bones that are thick enough."""
    found = [bone for bone in scene.long_bones if bone.outer >= least]
    if not found:
        raise NoRoom
    return found


def inwards(scene: Scene, point: Vector) -> float:
    """Return the direction along x to the middle of the body."""
    return 1.0 if point[0] < (scene.box[0] + scene.box[1]) / 2 else -1.0


def head_of(scene: Scene, rng: Rng, least: float = LEAST_HEAD) -> Vector:
    """Return the middle of a hip or shoulder: the most solid bone on one side of the body."""
    sides = [(0.0, 0.36), (0.64, 1.0)]
    side = sides[rng.integers(2)]
    point, share = scene.solid_bone(scene.band(side, (0.1, 0.9)), HEAD_MM)
    if share < least:
        raise NoRoom
    return point


def _stem(top: Vector, down: Vector, inner: float, bow: float, rng: Rng) -> list[Solid]:
    """Return a stem from its top downwards, curved."""
    length = rng.uniform(100, 170)
    tip = float(np.clip(0.75 * inner, 3.5, 6.5))
    wide, deep = rng.uniform(9, 14), rng.uniform(7, 9.5)
    stem = taper((tip, tip), (wide, deep), length, rng.choice([2.0, 3.0, 5.0])).bent(bow)
    return [stem.at(top + down * length, -down, rng.uniform(-0.3, 0.3))]


def _neck(stem_top: Vector, inside: float, rng: Rng) -> tuple[list[Solid], Vector, float]:
    """Return neck and ball, the middle of the ball, and its radius."""
    angle = rng.uniform(0.75, 1.0)
    ball = stem_top + rng.uniform(38, 50) * np.array([inside * np.sin(angle), rng.uniform(-0.2, 0.1), np.cos(angle)])
    r = rng.choice([11.0, 14.0, 16.0, 18.0])
    return [between(stem_top, ball, rng.uniform(5.5, 7)), sphere(r).at(ball)], ball, float(r)


def _cup(ball: Vector, r: float, inside: float, rng: Rng) -> list[Solid]:
    """Return a cup that opens outwards and down, with a liner that is not metal, and sometimes screws."""
    axis = np.array([inside * rng.uniform(0.5, 0.8), -rng.uniform(0.0, 0.4), rng.uniform(0.5, 0.8)])
    inner = r + rng.uniform(4, 8)
    outer = inner + rng.uniform(2.5, 5)
    parts = [shell(outer, inner, rng.uniform(-3, 3)).at(ball, axis)]
    for _ in range(rng.integers(0, 3)):
        way = axis + rng.normal(0, 0.35, 3)
        parts.append(rod(2.8, rng.uniform(15, 35)).at(ball + way / np.linalg.norm(way) * inner, way))
    return parts


def hip_stem(scene: Scene, rng: Rng) -> list[Solid]:
    """Put the stem of a hip prosthesis into a femur; its neck, ball and cup lie above."""
    bones = shafts(scene)[:2]
    bone = bones[rng.integers(len(bones))]
    if bone.outer > 24:
        raise NoRoom
    inside = inwards(scene, bone.point)
    low, high = -scene.span / 2, scene.span / 2
    above_joint = "hip" in scene.sites or "pelvis" in scene.sites
    height = rng.uniform(low - 10, high + 60) if above_joint else rng.uniform(high + 5, high + 120)
    top = bone.at(height)
    parts = _stem(top, -bone.axis, bone.inner, rng.uniform(600, 2000), rng)
    neck, ball, r = _neck(top, inside, rng)
    return parts + neck + _cup(ball, r, inside, rng)


def hip_cup(scene: Scene, rng: Rng) -> list[Solid]:
    """Put a cup with liner and ball where the femoral head is; neck and stem lie below."""
    ball = head_of(scene, rng) + np.array([0, 0, rng.uniform(-20, 15)])
    inside = inwards(scene, ball)
    r = float(rng.choice([11.0, 14.0, 16.0, 18.0]))
    top = ball - np.array([inside * rng.uniform(32, 42), rng.uniform(-8, 8), rng.uniform(25, 35)])
    down = np.array([inside * rng.uniform(0.0, 0.12), 0, -1.0])
    parts = [sphere(r).at(ball), between(top, ball, rng.uniform(5.5, 7)), *_cup(ball, r, inside, rng)]
    return parts + _stem(top, down / np.linalg.norm(down), 6.0, 1e4, rng)


def resurfacing(scene: Scene, rng: Rng) -> list[Solid]:
    """Cap a femoral head; a thin pin points into the neck, and a cup lies around the cap."""
    ball = head_of(scene, rng) + np.array([0, 0, rng.uniform(-12, 12)])
    inside = inwards(scene, ball)
    r = rng.uniform(21, 26)
    axis = np.array([inside * 0.75, 0.0, 0.65])
    parts = [shell(r, r - rng.uniform(2.5, 4), -0.3 * r).at(ball, axis), between(ball, ball - 45 * axis, 3.0)]
    if rng.random() < 0.7:
        parts.append(shell(r + rng.uniform(3, 4.5), r + 0.4, 0.0).at(ball, axis))
    return parts


def knee(scene: Scene, rng: Rng) -> list[Solid]:
    """Put a knee replacement around the joint: condyles of metal above, a tray with its stem below."""
    middle, share = scene.solid_bone(scene.body[scene.middle], 14.0)
    if share < 0.5:
        raise NoRoom
    near = [bone for bone in scene.long_bones if np.hypot(*(bone.point - middle)[:2]) < 30]
    wide = float(np.clip(2.2 * max((bone.outer for bone in near), default=28.0), 50, 78)) * rng.uniform(0.95, 1.05)
    joint = middle + np.array([0, 0, rng.uniform(-0.5 * scene.span - 25, 0.5 * scene.span + 30)])
    turn = rng.uniform(-0.2, 0.2)
    r = 0.42 * wide
    thick = rng.uniform(7, 10)
    across = cylinder(r, wide).at((-wide / 2, 0, 0), (1, 0, 0))
    hollow = cylinder(r - thick, wide + 2).at((-wide / 2 - 1, 0, 0), (1, 0, 0))
    notch = box(0.28 * wide, 2 * r, 2 * r).at((0, 0.8 * r, 0))
    above = box(2 * wide, 1.6 * r, 2 * r).at((0, 0.3 * r, 1.3 * r))
    condyles = across.without(hollow, notch, above).within(ellipsoid(0.56 * wide, 1.2 * r, 1.2 * r))
    parts = [condyles.at(joint + np.array([0, 0, r + 4]), turn=turn)]
    for side in (-1, 1):
        parts.append(cylinder(3.2, 16).at(joint + np.array([side * 0.27 * wide, 0, thick])))
    tray = joint - np.array([0, 0, rng.uniform(7, 14)])
    plate = box(wide, 0.66 * wide, rng.uniform(3, 5), 1.0).within(cylinder(0.52 * wide, 20).at((0, 0, -10)))
    keel = taper((5.0, 5.0), (rng.uniform(6.5, 9), rng.uniform(6.5, 9)), rng.uniform(30, 50))
    length = keel.high[2]
    parts += [plate.at(tray, turn=turn), keel.at(tray - (0, 0, length))]
    for side in (-1, 1):
        fin = box(18, 3, 0.5 * length)
        parts.append(fin.at(tray + np.array([side * 10, 5, -0.25 * length]), turn=side * 0.4))
    if rng.random() < 0.3:  # a long stem of a revision
        parts.append(cylinder(rng.uniform(5, 7.5), 110).at(tray - (0, 0, 115)))
    return parts


def shoulder(scene: Scene, rng: Rng) -> list[Solid]:
    """Put a ball and a stem into a humerus; sometimes reversed, with the ball on the shoulder blade."""
    ball = head_of(scene, rng, LEAST_ARM) + np.array([0, 0, rng.uniform(-15, 15)])
    inside = inwards(scene, ball)
    axis = np.array([inside * 0.7, 0.35, 0.6])
    r = rng.uniform(20, 25)
    stem = ball + np.array([-inside * rng.uniform(4, 10), -3, -8])
    parts = _stem(stem, np.array([-inside * 0.05, 0.0, -1.0]), 5.0, 1e4, rng)
    if rng.random() < 0.4:
        blade = ball + inside * np.array([1.2 * r, 0, 0])
        parts += [shell(0.85 * r, 0, 0).at(blade, -axis), rod(2.8, 30).at(blade, axis), cylinder(12, 3).at(blade, axis)]
        parts.append(cylinder(0.8 * r, 8, 3).at(ball, -axis))
    else:
        parts.append(shell(r, 0.0, 0.35 * r).at(ball, axis))
        parts.append(between(stem, ball + 0.35 * r * axis, 5.0))
    return parts
