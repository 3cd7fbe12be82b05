"""Lesion retention: the share of the contrast of small inserted discs that a method preserves.

A disc of 4 mm and 40 HU is added to the clean and to the corrupted slice, so that the artifact is unchanged. The
retained contrast is the difference of the results with and without the disc, inside the disc, divided by its contrast.
1 is perfect; lower values mean that the method mistook the disc for artifact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt, gaussian_filter

from acdnet.data.store import Pair
from acdnet.evaluate.case import Case
from acdnet.methods.method import Method

DIAMETER_MM, CONTRAST_HU = 4.0, 40.0
NEAR_MM = (8.0, 25.0)
FAR_MM = 50.0
SOFT_HU = (-50.0, 150.0)
BLUR_PIXELS = 0.6
"""Blur of the disc, as by a scanner."""
ASSUMED_PIXEL_MM = 0.9
"""For pairs of unknown pixel size."""


@dataclass(frozen=True)
class Retention:
    """The share of a disc's contrast that a method preserves."""

    case: str
    method: str
    place: str
    """near, far or no metal."""
    kept: float


def lesion_retention(case: Case, methods: Sequence[Method], rng: np.random.Generator) -> list[Retention]:
    """Measure the retention of a disc near metal, of one far from it, and of one in the slice without metal."""
    found = []
    case = replace(case, sinogram=None, protocol="clinical", pixel_mm=case.pixel_mm or ASSUMED_PIXEL_MM)  # images only
    for subject, places in ((case, ("near", "far")), (without_metal(case), ("no metal",))):
        discs = {place: disc for place in places if (disc := draw_disc(case, place, rng)) is not None}
        changed = {place: with_disc(subject, disc) for place, disc in discs.items()}
        for one in methods if discs else ():
            without = one(subject.measurement(one.device)).image_hu
            for place, disc in discs.items():
                image = one(changed[place].measurement(one.device)).image_hu
                difference, weight = image - without, disc / disc.sum()
                kept = float((difference * weight).sum() / (CONTRAST_HU * (disc * weight).sum()))
                found.append(Retention(case.info.name, one.label, place, kept))
    return found


def draw_disc(case: Case, place: str, rng: np.random.Generator) -> NDArray[np.float32] | None:
    """Return a disc in soft tissue, 1 inside and 0 outside; None if there is no room."""
    pixel_mm = case.pixel_mm or ASSUMED_PIXEL_MM
    clean, metal = case.pair.clean, case.pair.metal
    smooth = gaussian_filter(clean, 1.0)
    soft = (smooth > SOFT_HU[0]) & (smooth < SOFT_HU[1])
    radius = DIAMETER_MM / 2 / pixel_mm
    room = distance_transform_edt(soft & ~metal) > radius + 2
    away = distance_transform_edt(~metal) * pixel_mm if metal.any() else np.full(clean.shape, np.inf)
    if place == "near":
        room &= (away > NEAR_MM[0]) & (away < NEAR_MM[1])
    elif place == "far":
        room &= away > FAR_MM
    places = np.flatnonzero(room)
    if len(places) == 0:
        return None
    row, column = np.unravel_index(rng.choice(places), clean.shape)
    y, x = np.ogrid[: clean.shape[0], : clean.shape[1]]
    disc = (np.hypot(y - row, x - column) <= radius).astype(np.float32)
    blurred: NDArray[np.float32] = gaussian_filter(disc, BLUR_PIXELS)
    return blurred


def with_disc(case: Case, disc: NDArray[np.float32]) -> Case:
    """Add a disc to the tissue of a case."""
    pair, added = case.pair, CONTRAST_HU * disc
    tissue = np.where(pair.metal, 0.0, added).astype(np.float32)
    clean, corrupted = pair.clean + added, pair.corrupted + tissue
    return replace(case, pair=replace(pair, clean=clean, corrupted=corrupted))


def without_metal(case: Case) -> Case:
    """Return the clean slice as a case without metal."""
    pair = case.pair
    nothing = np.zeros_like(pair.metal)
    return replace(case, pair=Pair(pair.clean, pair.clean, pair.clean, nothing))
