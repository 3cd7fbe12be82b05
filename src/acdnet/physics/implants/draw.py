"""Draw a random implant for a slice: its kind, its area, and its place in the body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from acdnet.errors import ConfigError, InputRefused
from acdnet.physics.implants.anatomy import Anatomy
from acdnet.physics.implants.given import place
from acdnet.physics.implants.kinds import ALLOYS, KINDS
from acdnet.physics.implants.library import MAKERS, NoRoom
from acdnet.physics.materials import METALS
from acdnet.units import Mask

AREA_AT_416 = (20.0, 2500.0)
"""Smallest and largest metal in pixels of a 416 x 416 slice."""

DENTAL_AREA_AT_416 = 150.0
"""Masks given by the user that are larger are not made of dental metals."""

ATTEMPTS = 40
NEAR_ENOUGH = 0.3
"""Accepted logarithm of the ratio of the area and the wanted area."""


@dataclass(frozen=True)
class Implant:
    """Metal for a slice: its mask, its kind and its material."""

    mask: Mask
    kind: str
    metal: str


def draw_implant(
    anatomy: Anatomy, rng: np.random.Generator, kinds: tuple[str, ...] = tuple(KINDS), shapes: tuple[Mask, ...] = ()
) -> Implant:
    """Draw an implant that occurs in the region of the slice.

    The wanted area is log-uniform, so that large and small implants are equally frequent; implants are drawn until one
    has nearly this area. Masks given by the user are drawn half as often as all other kinds together.
    """
    unknown = sorted(set(kinds) - KINDS.keys())
    if unknown:
        raise ConfigError(f"no implant {unknown[0]!r}; choose from {', '.join(KINDS)}")
    fitting = tuple(name for name in kinds if anatomy.region in KINDS[name].regions)
    if not fitting and not shapes:
        raise InputRefused(f"none of the implants {', '.join(kinds) or '(none)'} occurs in the {anatomy.region}")
    pixels = anatomy.body.size / 416**2
    low, high = AREA_AT_416[0] * pixels, AREA_AT_416[1] * pixels
    wanted = float(np.exp(rng.uniform(np.log(low), np.log(high))))
    nearest: Implant | None = None
    for _ in range(ATTEMPTS):
        given = bool(shapes) and (not fitting or rng.random() < 1 / 3)
        implant = _given(anatomy, wanted, shapes, rng) if given else _made(anatomy, wanted, fitting, rng)
        area = int(implant.mask.sum())
        if not low <= area <= high:
            continue
        if nearest is None or abs(np.log(area / wanted)) < abs(np.log(nearest.mask.sum() / wanted)):
            nearest = implant
        if abs(np.log(area / wanted)) < NEAR_ENOUGH:
            break
    if nearest is None:
        raise InputRefused(f"no implant of {low:.0f} to {high:.0f} pixels fits into the body")
    return nearest


def _made(anatomy: Anatomy, wanted: float, kinds: tuple[str, ...], rng: np.random.Generator) -> Implant:
    name = str(rng.choice(kinds))
    kind, make = KINDS[name], MAKERS[name]
    state = rng.bit_generator.state
    try:
        natural = int((make(anatomy, 1.0, rng) & anatomy.body).sum())
        scale = float(np.clip(np.sqrt(wanted / max(natural, 1)), *kind.scales))
        rng.bit_generator.state = state  # the same implant again, scaled
        mask = make(anatomy, scale, rng) & anatomy.body
    except NoRoom:
        mask = np.zeros_like(anatomy.body)
    return Implant(mask, name, str(rng.choice(kind.metals)))


def _given(anatomy: Anatomy, wanted: float, shapes: tuple[Mask, ...], rng: np.random.Generator) -> Implant:
    shape = shapes[rng.integers(len(shapes))]
    pixels = np.flatnonzero(anatomy.deep(5))
    row, column = np.unravel_index(rng.choice(pixels), anatomy.body.shape)
    turn = rng.uniform(0, 2 * np.pi)
    mask = place(shape, anatomy.body.shape, (float(row), float(column)), wanted, turn) & anatomy.body
    metals = METALS if mask.sum() < DENTAL_AREA_AT_416 * mask.size / 416**2 else ALLOYS
    return Implant(mask, "given", str(rng.choice(metals)))
