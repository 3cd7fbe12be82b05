"""What is done to patches so that a network touches only what it must: lesions, other bone, weaker artifacts.

What is small, round and in Y is tissue. Lesions are added to the clean image and so to the corrupted one, whose
artifact stays what it was. LI fills the rays through metal from their neighbours and so loses a share of each, and so
does a trace fit, of which less is lost; which share is drawn here, from the same range for both and at all distances,
not computed. Near metal they are lost most easily, so that many lie there.

What bone has more or less of is added to all images alike: the first image is taken to know it, as it mostly does far
from metal, where bone is to be left alone. Near metal a first image loses some of it, which is not imitated.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt, gaussian_filter

from acdnet.data.store import Pair

PIXELS_EACH = 1500
"""One lesion in so many pixels, on average."""
RADIUS = (1.5, 6.0)
"""Shorter radius in pixels; small ones are as frequent as large ones, octave by octave."""
STRETCH = (1.0, 2.5)
NEAR, NEAR_PIXELS = 0.5, (4.0, 30.0)
"""Share of the lesions that are put near metal, where a patch shows any, and how far from its edge."""
CONTRAST_HU = (20.0, 200.0)
"""Brighter or darker than the tissue; octave by octave."""
KEPT = (0.6, 1.0)
EDGE_PIXELS = 0.6
TISSUE_HU = -300.0
"""Lesions lie where the clean image is denser than this, not in air or lung."""
DENSE_HU = 150.0
"""What is denser counts as bone here: lower than where bone begins in the scores, for its edges, which mix with tissue,
and for cancellous bone."""
BONE_FACTOR = (0.6, 2.5)
"""What bone has above this is multiplied, octave by octave: osteoporosis to the petrous bone."""
DENSEST_HU = 2800.0
"""Enamel; bone is not made denser."""


def with_lesions(pair: Pair, rng: np.random.Generator) -> Pair:
    """Return a patch with lesions in its tissue."""
    added, added_to_li = np.zeros_like(pair.clean), np.zeros_like(pair.clean)
    near = _near(pair.metal)
    for _ in range(rng.poisson(pair.clean.size / PIXELS_EACH)):
        row, column = _place(pair.metal.shape, near, rng)
        contrast = rng.choice((-1.0, 1.0)) * _octaves(CONTRAST_HU, rng)
        kept = rng.uniform(*KEPT)
        lesion = np.float32(contrast) * _ellipse(pair.clean.shape, row, column, rng)
        if pair.clean[row, column] > TISSUE_HU:
            added += lesion
            added_to_li += np.float32(kept) * lesion
    added, added_to_li = (gaussian_filter(image, EDGE_PIXELS) for image in (added, added_to_li))
    corrupted = np.where(pair.metal, pair.corrupted, pair.corrupted + added)
    fitted = None if pair.tracefit is None else pair.tracefit + added_to_li
    return Pair(pair.clean + added, corrupted, pair.li + added_to_li, pair.metal, tracefit=fitted)


def fainter(pair: Pair, rng: np.random.Generator) -> Pair:
    """Return a patch with any share of its artifact: where Y is clean, it is to be left alone."""
    share = np.float32(rng.uniform(0.0, 1.0))
    weaker = pair.clean + share * (pair.corrupted - pair.clean)
    return replace(pair, corrupted=np.where(pair.metal, pair.corrupted, weaker))


def with_other_bone(pair: Pair, rng: np.random.Generator) -> Pair:
    """Return a patch whose bone is denser, or less dense, in all of its images; the artifact stays what it was."""
    above = np.maximum(pair.clean - np.float32(DENSE_HU), 0.0)
    other = above * np.float32(_octaves(BONE_FACTOR, rng))
    added = np.minimum(other, np.maximum(above, DENSEST_HU - DENSE_HU)) - above
    corrupted = np.where(pair.metal, pair.corrupted, pair.corrupted + added)
    fitted = None if pair.tracefit is None else pair.tracefit + added
    return replace(pair, clean=pair.clean + added, corrupted=corrupted, li=pair.li + added, tracefit=fitted)


def _near(metal: NDArray[np.bool_]) -> NDArray[np.int64]:
    """List the pixels near metal."""
    if not metal.any():
        return np.empty((0, 2), np.int64)
    away = distance_transform_edt(~metal)
    return np.argwhere((away >= NEAR_PIXELS[0]) & (away <= NEAR_PIXELS[1]))


def _place(shape: tuple[int, ...], near: NDArray[np.int64], rng: np.random.Generator) -> tuple[int, int]:
    """Draw a place near metal, or anywhere."""
    if len(near) and rng.random() < NEAR:
        row, column = near[rng.integers(len(near))]
    else:
        row, column = rng.integers(np.array(shape))
    return int(row), int(column)


def _ellipse(shape: tuple[int, ...], row: int, column: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return 1 in an ellipse of random size and direction, 0 outside."""
    short = _octaves(RADIUS, rng)
    long, angle = short * rng.uniform(*STRETCH), rng.uniform(0.0, np.pi)
    y, x = np.ogrid[: shape[0], : shape[1]]
    y, x = y - row, x - column
    along, across = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
    inside: NDArray[np.bool_] = (along / long) ** 2 + (across / short) ** 2 <= 1.0
    return inside.astype(np.float32)


def _octaves(limits: tuple[float, float], rng: np.random.Generator) -> float:
    return float(np.exp(rng.uniform(*np.log(limits))))
