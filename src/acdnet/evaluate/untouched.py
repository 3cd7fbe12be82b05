"""Is anything touched that need not be? Far from metal, where there is hardly an artifact, nothing should change."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from acdnet.evaluate.cases import Case
from acdnet.evaluate.lesions import ASSUMED_PIXEL_MM
from acdnet.evaluate.metrics import regions

FAR_MM = 50.0
ARTIFACT_HU = 5.0
TISSUES = ("soft", "bone")


def needless(image: NDArray[np.float32], case: Case) -> dict[str, float]:
    """Return the mean absolute change in HU of soft tissue and of bone that need none; NaN where there is no such."""
    pair = case.pair
    away = distance_transform_edt(~pair.metal) * (case.pixel_mm or ASSUMED_PIXEL_MM)
    clean = (away > FAR_MM) & (np.abs(pair.corrupted - pair.clean) < ARTIFACT_HU)
    change = np.abs(image - pair.corrupted)
    found = {}
    for name, where in regions(pair.clean, pair.metal).items():
        if name in TISSUES:
            there = where & clean
            found[name] = float(change[there].mean()) if there.any() else float("nan")
    return found
