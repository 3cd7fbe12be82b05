"""Needless changes: far from metal, where there is almost no artifact, nothing should change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from acdnet.evaluate.case import Case
from acdnet.evaluate.lesions import ASSUMED_PIXEL_MM, FAR_MM
from acdnet.evaluate.metrics import regions

ARTIFACT_HU = 5.0
TISSUES = ("soft", "bone")


class Change(NamedTuple):
    """Mean absolute change in HU and the number of pixels; NaN for no pixels."""

    hu: float
    pixels: int


def over_slices(changes: Sequence[Change]) -> float:
    """Return the mean of the slices' means, in which a few pixels count as much as a whole pelvis."""
    found = [change.hu for change in changes if change.pixels]
    return float(np.mean(found)) if found else math.nan


def over_pixels(changes: Sequence[Change]) -> float:
    """Return the mean over all pixels of all slices."""
    pixels = sum(change.pixels for change in changes)
    return sum(change.hu * change.pixels for change in changes if change.pixels) / pixels if pixels else math.nan


def needless(image: NDArray[np.float32], case: Case) -> dict[str, Change]:
    """Measure the change of soft tissue and bone where there is almost no artifact."""
    pair = case.pair
    away = distance_transform_edt(~pair.metal) * (case.pixel_mm or ASSUMED_PIXEL_MM)
    clean = (away > FAR_MM) & (np.abs(pair.corrupted - pair.clean) < ARTIFACT_HU)
    change = np.abs(image - pair.corrupted)
    found = {}
    for name, where in regions(pair.clean, pair.metal).items():
        if name in TISSUES:
            there = where & clean
            found[name] = Change(float(change[there].mean()) if there.any() else math.nan, int(there.sum()))
    return found
