"""Where the metal is. One threshold is what the paper takes; this is what real images need.

1. Seeds: pixels above the threshold (2500 HU). Dense bone, enamel and contrast medium stay below.
2. Growth: what touches seeds and is above `FLOOR_HU` and above a share of the brightest pixel nearby. For a bright
   metal that is its true edge, half way up; for one that a 12-bit scanner cuts off at 3071 HU it is the plateau.
3. Holes: the inside of a large implant can be so starved of photons that it is darker than its rim.
4. Small and not very bright: noise or dense bone, unless the slices above or below have metal there too.
5. Through the slices: where there is metal above or below, a little less than the threshold is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from acdnet.errors import ConfigError, check_limits

Mask = NDArray[np.bool_]

FLOOR_HU = 2200.0
"""Nothing darker is metal: compact bone and most enamel stay below."""
PARTIAL_SHARE = 0.9
"""Share of the threshold that is enough for metal where the slices above or below have metal."""
EDGE_SHARE = 0.6
"""Metal ends where the image falls below this share of the brightest pixel nearby."""
NEARBY_MM = 4.0
REACH_MM = 6.0
"""How far growth goes from a seed."""
HOLE_HU = 600.0
"""A hole whose median is brighter belongs to the metal; one of tissue or air does not."""
SMALL_MM2 = 12.0
SOWN_MM2 = 3.0
SURE_HU = 3000.0
"""A piece that is smaller, or has fewer seeds (enamel with a speck of noise), must be so bright or go on next door."""
LEAST_PIXELS = 2
EIGHT = np.ones((3, 3), bool)


@dataclass(frozen=True)
class Segmentation:
    """How metal is found: `auto` as this module says, `threshold` as in the paper: all above the threshold."""

    kind: str = "auto"
    threshold_hu: float = 2500.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigError(f"no segmentation {self.kind!r}; there are {', '.join(KINDS)}")
        check_limits(self, {"threshold_hu": (500.0, 30_000.0)})


KINDS = ("auto", "threshold")


@dataclass(frozen=True)
class Candidates:
    """What one slice says about its metal by itself. Only the window that has any is kept, for a whole series."""

    shape: tuple[int, int]
    window: tuple[slice, slice]
    sure: Mask
    """Metal, whatever the other slices say."""
    small: Mask
    """Metal if it goes on above or below."""
    maybe: Mask
    """Too dark for a seed; metal if there is metal above or below."""

    def whole(self, name: str) -> Mask:
        """Return one of the masks in the size of the slice."""
        out = np.zeros(self.shape, bool)
        out[self.window] = getattr(self, name)
        return out


def find_metal(
    slices: Sequence[NDArray[np.float32]] | NDArray[np.float32],
    spacing_mm: tuple[float, float],
    how: Segmentation | None = None,
) -> Mask:
    """Return the metal of slices that lie above each other, n x H x W, or of one slice, H x W."""
    how = how or Segmentation()
    if isinstance(slices, np.ndarray) and slices.ndim == 2:
        return next(through_slices([candidates(slices, spacing_mm, how)]))
    found = [candidates(one, spacing_mm, how) for one in slices]
    return np.stack(list(through_slices(found)))


def candidates(hu: NDArray[np.float32], spacing_mm: tuple[float, float], how: Segmentation) -> Candidates:
    """Judge one slice. What is not finite is taken for as bright as the brightest: some programs mark metal so."""
    finite = np.isfinite(hu)
    image = hu if finite.all() else np.where(finite, hu, hu[finite].max(initial=-1000.0))
    seeds = image > how.threshold_hu
    shape = (seeds.shape[0], seeds.shape[1])
    possible = seeds if how.kind == "threshold" else image > min(FLOOR_HU, how.threshold_hu)
    if not possible.any():
        nothing = np.zeros((0, 0), bool)
        return Candidates(shape, (slice(0, 0), slice(0, 0)), nothing, nothing, nothing)
    window = _crop(possible, spacing_mm)
    if how.kind == "threshold":
        nothing = np.zeros_like(seeds[window])
        return Candidates(shape, window, seeds[window].copy(), nothing, nothing)
    image, seeds, possible = image[window], seeds[window], possible[window]
    pixel_mm = float(np.sqrt(spacing_mm[0] * spacing_mm[1]))
    nearby = 2 * max(1, round(NEARBY_MM / pixel_mm)) + 1
    edge = possible & (image > EDGE_SHARE * ndimage.maximum_filter(image, nearby))
    reached = ndimage.distance_transform_edt(~seeds, sampling=spacing_mm) <= REACH_MM if seeds.any() else seeds
    grown = _touching(edge & reached, seeds)
    sure, small = _by_size(grown, seeds, image, pixel_mm)
    filled = _without_holes(sure, image)
    maybe = edge & (image > PARTIAL_SHARE * how.threshold_hu) & ~filled & ~small
    return Candidates(shape, window, filled, small, maybe)


def through_slices(found: Sequence[Candidates]) -> Iterator[Mask]:
    """Settle what one slice leaves open by its neighbours, slice by slice."""
    for n, here in enumerate(found):
        beside = [found[m] for m in (n - 1, n + 1) if 0 <= m < len(found) and found[m].shape == here.shape]
        sure, small, maybe = (here.whole(name) for name in ("sure", "small", "maybe"))
        if not beside or not (small.any() or maybe.any()):
            yield sure
            continue
        certain = np.logical_or.reduce([other.whole("sure") for other in beside])
        bright = np.logical_or.reduce([certain, *(other.whole("small") for other in beside)])
        goes_on = _touching(small, small & ndimage.binary_dilation(bright, EIGHT))
        yield sure | goes_on | (maybe & certain)


def _crop(mask: Mask, spacing_mm: tuple[float, float]) -> tuple[slice, slice]:
    """Return the window that holds a mask with room around it."""
    found = ndimage.find_objects(mask.astype(np.int8))[0]
    rooms = [round((REACH_MM + NEARBY_MM) / mm) + 2 for mm in spacing_mm]
    rows, columns = (
        slice(max(0, part.start - room), part.stop + room) for part, room in zip(found, rooms, strict=True)
    )
    return rows, columns


def _touching(mask: Mask, seeds: Mask) -> Mask:
    """Keep the pieces of a mask that hold a seed."""
    pieces, count = ndimage.label(mask, EIGHT)
    held = np.zeros(count + 1, bool)
    held[np.unique(pieces[seeds])] = True
    held[0] = False
    return np.asarray(held[pieces])


def _by_size(mask: Mask, seeds: Mask, image: NDArray[np.float32], pixel_mm: float) -> tuple[Mask, Mask]:
    """Part the pieces whose seeds are many or bright enough from those that are not."""
    pieces, count = ndimage.label(mask, EIGHT)
    if not count:
        return mask, mask.copy()
    numbers = np.arange(1, count + 1)
    pixels = np.bincount(pieces.ravel(), minlength=count + 1)[1:]
    sown = np.bincount(pieces[seeds], minlength=count + 1)[1:]
    peak = np.asarray(ndimage.maximum(image, pieces, numbers))
    large = (pixels * pixel_mm**2 >= SMALL_MM2) & (sown * pixel_mm**2 >= SOWN_MM2)
    enough = large | ((peak >= SURE_HU) & (pixels >= LEAST_PIXELS))
    return np.r_[False, enough][pieces], np.r_[False, ~enough][pieces]


def _without_holes(mask: Mask, image: NDArray[np.float32]) -> Mask:
    holes, count = ndimage.label(ndimage.binary_fill_holes(mask) & ~mask)
    if not count:
        return mask
    median = np.asarray(ndimage.median(image, holes, np.arange(1, count + 1)))
    return np.asarray(mask | np.r_[False, median > HOLE_HU][holes])


def overlap(a: Mask, b: Mask) -> float:
    """Return Dice's coefficient of two masks; 1 where both are empty."""
    total = int(a.sum()) + int(b.sum())
    return 2 * int((a & b).sum()) / total if total else 1.0
