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

ATTEMPTS = 40
NEAR_ENOUGH = 0.3
"""Logarithm of the ratio of the area drawn and the area wanted that is let pass."""


@dataclass(frozen=True)
class Implant:
    """Metal for a slice: where, what kind, what it is made of."""

    mask: NDArray[np.bool_]
    kind: str
    metal: str


def draw_implant(
    anatomy: Anatomy, rng: np.random.Generator, kinds: tuple[str, ...] = tuple(KINDS), shapes: tuple[Shape, ...] = ()
) -> Implant:
    """Draw an implant of a kind that is found in such a slice; large and small ones are wanted equally often.

    An area is drawn, evenly in its logarithm, and then implants until one has it, as near as makes no difference.
    Shapes given by the user are one more kind, drawn half as often as all others together.
    """
    unknown = sorted(set(kinds) - KINDS.keys())
    if unknown:
        raise ConfigError(f"no implant {unknown[0]!r}; there are {', '.join(KINDS)}")
    fitting = tuple(name for name in kinds if anatomy.region in KINDS[name].regions)
    if not fitting and not shapes:
        raise InputRefused(f"none of the implants {', '.join(kinds) or '(none)'} is found in a {anatomy.region}")
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
        raise InputRefused(f"no implant of {low:.0f} to {high:.0f} pixels fits into the body of the slice")
    return nearest


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
