"""Draw an implant for a slice: choose a kind and a size, put it in the body, keep it within the wanted area."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import ConfigError, InputRefused
from acdnet.physics.implants.anatomy import Anatomy
from acdnet.physics.implants.given import Shape, place
from acdnet.physics.implants.library import ALLOYS, KINDS
from acdnet.physics.materials import METALS

AREA_AT_416 = (20.0, 2500.0)
"""Smallest and largest metal in pixels of a 416 x 416 slice."""

DENTAL_AREA_AT_416 = 150.0
"""Larger shapes are not made of dental metals."""

ATTEMPTS = 100


@dataclass(frozen=True)
class Implant:
    """Metal for a slice: where, what kind, what it is made of."""

    mask: NDArray[np.bool_]
    kind: str
    metal: str


def draw_implant(
    anatomy: Anatomy, rng: np.random.Generator, kinds: tuple[str, ...] = tuple(KINDS), shapes: tuple[Shape, ...] = ()
) -> Implant:
    """Draw an implant of a random kind; the area is spread evenly over the decades between the limits.

    Shapes given by the user are one more kind, drawn as often as half of all others together.
    """
    unknown = sorted(set(kinds) - KINDS.keys())
    if unknown:
        raise ConfigError(f"no implant {unknown[0]!r}; there are {', '.join(KINDS)}")
    if not kinds and not shapes:
        raise ConfigError("neither a kind of implant nor a shape is given")
    pixels = anatomy.body.size / 416**2
    low, high = AREA_AT_416[0] * pixels, AREA_AT_416[1] * pixels
    for _ in range(ATTEMPTS):
        wanted = float(np.exp(rng.uniform(np.log(low), np.log(high))))
        given = bool(shapes) and (not kinds or rng.random() < 1 / 3)
        implant = _given(anatomy, wanted, shapes, rng) if given else _made(anatomy, wanted, kinds, rng)
        if low <= implant.mask.sum() <= high:
            return implant
    raise InputRefused(f"no implant of {low:.0f} to {high:.0f} pixels fits into the body of the slice")


def _made(anatomy: Anatomy, wanted: float, kinds: tuple[str, ...], rng: np.random.Generator) -> Implant:
    name = str(rng.choice(kinds))
    kind = KINDS[name]
    state = rng.bit_generator.state
    natural = int((kind.make(anatomy, 1.0, rng) & anatomy.body).sum())
    scale = float(np.clip(np.sqrt(wanted / max(natural, 1)), *kind.scales))
    rng.bit_generator.state = state  # the same implant again, at its size
    mask = kind.make(anatomy, scale, rng) & anatomy.body
    return Implant(mask, name, str(rng.choice(kind.metals)))


def _given(anatomy: Anatomy, wanted: float, shapes: tuple[Shape, ...], rng: np.random.Generator) -> Implant:
    shape = shapes[rng.integers(len(shapes))]
    pixels = np.flatnonzero(anatomy.deep(5))
    row, column = np.unravel_index(rng.choice(pixels), anatomy.body.shape)
    turn = rng.uniform(0, 2 * np.pi)
    mask = place(shape, anatomy.body.shape, (float(row), float(column)), wanted, turn) & anatomy.body
    metals = METALS if mask.sum() < DENTAL_AREA_AT_416 * mask.size / 416**2 else ALLOYS
    return Implant(mask, "given", str(rng.choice(metals)))
