"""Augmentation of patches: small lesions and weaker artifacts, so that a network removes only artifacts.

Lesions are added to the clean and to the corrupted image, so the artifact is unchanged. LI and the trace fit replace
rays through metal and lose part of each lesion. That part is not computed but drawn at random, from the same range for
both methods and at all distances. Lesions near metal are lost most easily, so half of them are placed there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt, gaussian_filter

from acdnet.data.store import Pair

PIXELS_EACH = 1500
"""Mean number of pixels per lesion."""
RADIUS = (1.5, 6.0)
"""Shorter radius in pixels, log-uniform."""
STRETCH = (1.0, 2.5)
NEAR, NEAR_PIXELS = 0.5, (4.0, 30.0)
"""Share of the lesions near metal, in patches with metal, and their distance from its edge."""
CONTRAST_HU = (20.0, 200.0)
"""Absolute contrast to the tissue, log-uniform; the sign is random."""
KEPT = (0.6, 1.0)
"""Share of a lesion's contrast that remains after LI or a trace fit."""
EDGE_PIXELS = 0.6
TISSUE_HU = -300.0
"""Lesions are placed only where the clean image is denser than this, not in air or lung."""


def with_lesions(pair: Pair, rng: np.random.Generator) -> Pair:
    """Add lesions to the tissue of a patch."""
    added, added_to_li = np.zeros_like(pair.clean), np.zeros_like(pair.clean)
    near = _near(pair.metal)
    for _ in range(rng.poisson(pair.clean.size / PIXELS_EACH)):
        row, column = _place(pair.metal.shape, near, rng)
        contrast = rng.choice((-1.0, 1.0)) * _log_uniform(CONTRAST_HU, rng)
        kept = rng.uniform(*KEPT)
        lesion = np.float32(contrast) * _ellipse(pair.clean.shape, row, column, rng)
        if pair.clean[row, column] > TISSUE_HU:
            added += lesion
            added_to_li += np.float32(kept) * lesion
    added, added_to_li = (gaussian_filter(image, EDGE_PIXELS) for image in (added, added_to_li))
    corrupted = np.where(pair.metal, pair.corrupted, pair.corrupted + added)
    fitted = None if pair.tracefit is None else pair.tracefit + added_to_li
    return Pair(pair.clean + added, corrupted, pair.li + added_to_li, pair.metal, tracefit=fitted)


def with_scaled_artifact(pair: Pair, rng: np.random.Generator) -> Pair:
    """Scale the artifact of a patch by a random factor between 0 and 1, so that clean input stays unchanged."""
    share = np.float32(rng.uniform(0.0, 1.0))
    weaker = pair.clean + share * (pair.corrupted - pair.clean)
    return replace(pair, corrupted=np.where(pair.metal, pair.corrupted, weaker))


def _near(metal: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the coordinates of all pixels near metal."""
    if not metal.any():
        return np.empty((0, 2), np.int64)
    away = distance_transform_edt(~metal)
    return np.argwhere((away >= NEAR_PIXELS[0]) & (away <= NEAR_PIXELS[1]))


def _place(shape: tuple[int, ...], near: NDArray[np.int64], rng: np.random.Generator) -> tuple[int, int]:
    """Draw a position near metal or anywhere."""
    if len(near) and rng.random() < NEAR:
        row, column = near[rng.integers(len(near))]
    else:
        row, column = rng.integers(np.array(shape))
    return int(row), int(column)


def _ellipse(shape: tuple[int, ...], row: int, column: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return a mask, 1 inside an ellipse of random size and direction, 0 outside."""
    short = _log_uniform(RADIUS, rng)
    long, angle = short * rng.uniform(*STRETCH), rng.uniform(0.0, np.pi)
    y, x = np.ogrid[: shape[0], : shape[1]]
    y, x = y - row, x - column
    along, across = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
    inside: NDArray[np.bool_] = (along / long) ** 2 + (across / short) ** 2 <= 1.0
    return inside.astype(np.float32)


def _log_uniform(limits: tuple[float, float], rng: np.random.Generator) -> float:
    return float(np.exp(rng.uniform(*np.log(limits))))
