"""The makers of implants: the cross-section and position of each kind.

Sizes are in millimetres and follow common products. A maker takes the anatomy, a scale for the whole implant, and a
random generator; it raises `NoRoom` if the slice has no place for the implant.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from acdnet.physics.implants.anatomy import Anatomy
from acdnet.physics.implants.shapes import Sheet
from acdnet.units import Mask

Rng = np.random.Generator
Maker = Callable[[Anatomy, float, Rng], Mask]


class NoRoom(Exception):
    """The slice has no place for an implant."""


def _sheet(anatomy: Anatomy, where: Mask, rng: Rng, turn: float = 0.0) -> Sheet:
    """Set the origin at a random pixel of a region."""
    pixels = np.flatnonzero(where)
    if len(pixels) == 0:
        raise NoRoom
    row, column = np.unravel_index(rng.choice(pixels), where.shape)
    return Sheet.at(anatomy.body.shape, float(row), float(column), anatomy.pixel_mm, turn)


def _nothing(anatomy: Anatomy) -> Mask:
    return np.zeros(anatomy.body.shape, bool)


def _side(rng: Rng) -> tuple[float, float]:
    """Choose the left or the right side of the body."""
    return (0.05, 0.36) if rng.random() < 0.5 else (0.64, 0.95)


def hip_stem(anatomy: Anatomy, scale: float, rng: Rng) -> Mask:
    """Draw the stem of a hip prosthesis in cross-section, a rounded rectangle; sometimes on both sides."""
    total = _nothing(anatomy)
    sides = ((0.05, 0.36), (0.64, 0.95)) if rng.random() < 0.3 else (_side(rng),)
    width, height = scale * rng.uniform(10, 18), scale * rng.uniform(8, 14)
    for side in sides:
        with suppress(NoRoom):
            sheet = _sheet(anatomy, anatomy.thick_bone & anatomy.band(side, (0.2, 0.9)), rng, rng.uniform(0, np.pi))
            total |= sheet.ellipse(0.62 * width, 0.62 * height) & sheet.box(width, height)
    return total


def hip_cup(anatomy: Anatomy, scale: float, rng: Rng) -> Mask:
    """Draw head and cup of a hip prosthesis: a ball, a radiolucent liner, and a shell open to one side."""
    side = _side(rng)
    sheet = _sheet(anatomy, anatomy.thick_bone & anatomy.band(side, (0.2, 0.9)), rng)
    head, shell = scale * rng.uniform(11, 18), scale * rng.uniform(3, 5)
    inwards = 0.0 if side[0] < 0.5 else np.pi
    cup = sheet.arc(head + scale * rng.uniform(5, 9), shell, inwards - rng.uniform(0, 0.8), rng.uniform(2.4, 3.4))
    neck = sheet.moved(0, 0, inwards + np.pi - rng.uniform(0, 0.7)).rod(scale * rng.uniform(15, 40), scale * 11)
    parts = [cup, sheet.disc(head)] + ([neck] if rng.random() < 0.5 else [])
    return np.asarray(np.logical_or.reduce(parts))


def spine_screws(anatomy: Anatomy, scale: float, rng: Rng) -> Mask:
    """Draw pedicle screws that converge in the vertebra, and their rods in cross-section."""
    sheet = _sheet(anatomy, anatomy.bone & anatomy.band((0.42, 0.58), (0.5, 0.9)), rng, rng.uniform(-0.15, 0.15))
    total = _nothing(anatomy)
    apart, length = scale * rng.uniform(14, 22), scale * rng.uniform(30, 50)
    core, thread, rod = scale * rng.uniform(3.5, 5), scale * rng.uniform(5, 7), scale * rng.uniform(2.5, 3.5)
    both = rng.random() < 0.75
    for side in (-1, 1) if both else (rng.choice((-1, 1)),):
        start = sheet.moved(side * apart, rng.uniform(5, 15), -np.pi / 2 - side * rng.uniform(0.15, 0.5))
        if rng.random() < 0.85:
            total |= start.screw(length, core, thread, scale * 2.5)
            total |= start.box(scale * 9, scale * 10)
        total |= start.moved(-scale * rng.uniform(3, 8), 0).disc(rod)
    return total


def spine_rods(anatomy: Anatomy, scale: float, rng: Rng) -> Mask:
    """Draw the two rods of a spinal fixation in cross-section; sometimes a cage in the disc space."""
    sheet = _sheet(anatomy, anatomy.bone & anatomy.band((0.42, 0.58), (0.55, 0.95)), rng)
    apart, radius = scale * rng.uniform(14, 24), scale * rng.uniform(2.5, 3.6)
    total = sheet.moved(-apart, rng.uniform(-4, 4)).disc(radius) | sheet.moved(apart, rng.uniform(-4, 4)).disc(radius)
    if rng.random() < 0.4:
        cage = sheet.moved(rng.uniform(-8, 8), -rng.uniform(25, 35))
        total |= cage.box(scale * 22, scale * 12) & ~cage.box(scale * 15, scale * 6)
    return total


def fillings(anatomy: Anatomy, scale: float, rng: Rng) -> Mask:
    """Draw dental fillings and crowns on teeth: enamel in the front half of a head."""
    total = _nothing(anatomy)
    for _ in range(rng.integers(1, 6)):
        tooth = _sheet(anatomy, anatomy.teeth & anatomy.band((0.0, 1.0), (0.0, 0.6)), rng, rng.uniform(0, np.pi))
        a, b = scale * rng.uniform(1.5, 4.5, 2)
        crown = rng.random() < 0.3
        total |= tooth.ellipse(a, b) & ~(tooth.ellipse(0.55 * a, 0.55 * b) if crown else _nothing(anatomy))
    return total


def clips(anatomy: Anatomy, scale: float, rng: Rng) -> Mask:
    """Draw a cluster of surgical clips: short thin bars in soft tissue."""
    first = _sheet(anatomy, anatomy.deep(20), rng)
    total = _nothing(anatomy)
    for _ in range(rng.integers(1, 7)):
        clip = first.moved(rng.normal(0, 15), rng.normal(0, 15), rng.uniform(0, np.pi))
        total |= clip.rod(scale * rng.uniform(4, 9), scale * rng.uniform(1.4, 2.2))
    return total


def plate(anatomy: Anatomy, scale: float, rng: Rng) -> Mask:
    """Draw a bone plate: a slightly bent strip next to bone, with up to two screws."""
    sheet = _sheet(anatomy, anatomy.bone & anatomy.deep(8), rng, rng.uniform(0, 2 * np.pi))
    radius, thickness = rng.uniform(40, 120), scale * rng.uniform(2, 4)
    width = scale * rng.uniform(15, 60) / radius
    total = sheet.moved(-radius, 0).arc(radius, thickness, 0.0, width)
    for _ in range(rng.integers(0, 3)):
        at = radius * rng.uniform(-0.4, 0.4) * width
        total |= sheet.moved(0, at, np.pi).screw(scale * rng.uniform(12, 30), 2.5 * scale, 3.5 * scale, 1.5 * scale)
    return total


def sternal_wires(anatomy: Anatomy, scale: float, rng: Rng) -> Mask:
    """Draw wires around the sternum: small loops and dots near the front."""
    sheet = _sheet(anatomy, anatomy.bone & anatomy.deep(6) & anatomy.band((0.4, 0.6), (0.0, 0.3)), rng)
    thickness = scale * rng.uniform(1.2, 2.0)
    total = sheet.arc(scale * rng.uniform(5, 11), thickness, rng.uniform(0, 2 * np.pi), rng.uniform(1.0, 6.0))
    if rng.random() < 0.6:
        twist = sheet.moved(rng.uniform(-8, 8), rng.uniform(-8, 8), rng.uniform(0, np.pi))
        total |= twist.rod(scale * rng.uniform(3, 8), 1.6 * thickness)
    return total


def leads(anatomy: Anatomy, scale: float, rng: Rng) -> Mask:
    """Draw pacemaker leads: dots where they cross the slice, arcs where they run in it."""
    first = _sheet(anatomy, anatomy.deep(35) & anatomy.band((0.2, 0.8), (0.1, 0.8)), rng)
    total = _nothing(anatomy)
    for _ in range(rng.integers(1, 4)):
        lead = first.moved(rng.normal(0, 25), rng.normal(0, 25), rng.uniform(0, 2 * np.pi))
        thickness = scale * rng.uniform(1.8, 3.0)
        if rng.random() < 0.6:
            total |= lead.disc(thickness)
        else:
            total |= lead.arc(rng.uniform(15, 40), thickness, 0.0, rng.uniform(0.2, 0.9))
    return total


def pacemaker(anatomy: Anatomy, scale: float, rng: Rng) -> Mask:
    """Draw a pacemaker: a flat rounded box under the skin of the chest, seen edge-on."""
    front = anatomy.deep(8) & ~anatomy.deep(25) & anatomy.band((0.12, 0.88), (0.0, 0.35))
    sheet = _sheet(anatomy, front, rng, rng.uniform(-0.9, 0.9))
    width, height = scale * rng.uniform(30, 50), scale * rng.uniform(6, 12)
    return sheet.moved(-width / 2, 0).rod(width, height)


def port(anatomy: Anatomy, scale: float, rng: Rng) -> Mask:
    """Draw an infusion port: a metal ring under the skin of the chest."""
    front = anatomy.deep(6) & ~anatomy.deep(22) & anatomy.band((0.15, 0.85), (0.0, 0.4))
    sheet = _sheet(anatomy, front, rng, rng.uniform(-0.9, 0.9))
    radius = scale * rng.uniform(6, 12)
    return sheet.ellipse(radius, 0.5 * radius) & ~sheet.ellipse(0.6 * radius, 0.2 * radius)


def coil(anatomy: Anatomy, scale: float, rng: Rng) -> Mask:
    """Draw an embolisation coil: a ball of wire in a vessel."""
    sheet = _sheet(anatomy, anatomy.deep(25) & ~anatomy.bone, rng, rng.uniform(0, np.pi))
    return sheet.ellipse(scale * rng.uniform(2, 7), scale * rng.uniform(2, 7))


def nail(anatomy: Anatomy, scale: float, rng: Rng) -> Mask:
    """Draw an intramedullary nail, solid or hollow, sometimes with a locking screw."""
    where = anatomy.thick_bone & anatomy.band(_side(rng), (0.1, 0.9))
    sheet = _sheet(anatomy, where, rng, rng.uniform(0, np.pi))
    radius = scale * rng.uniform(4.5, 7)
    hollow = sheet.disc(0.45 * radius) if rng.random() < 0.5 else _nothing(anatomy)
    total = sheet.disc(radius) & ~hollow
    if rng.random() < 0.4:
        length = scale * rng.uniform(30, 55)
        total |= sheet.moved(-length / 2, 0).screw(length, 3.5 * scale, 5 * scale, 1.8 * scale)
    return total


MAKERS: dict[str, Maker] = {
    maker.__name__.replace("_", "-"): maker
    for maker in (
        *(hip_stem, hip_cup, spine_screws, spine_rods, fillings, clips, plate),
        *(sternal_wires, leads, pacemaker, nail, port, coil),
    )
}
"""The maker of every kind in `kinds.KINDS`."""
