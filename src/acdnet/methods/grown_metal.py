"""Grow metal from bright seeds, for a threshold that the user gives.

1. Seeds: pixels above the threshold.
2. Growth: pixels connected to seeds, above `FLOOR_HU` and above a share of the brightest pixel nearby: up to half
   height at a bright edge, up to the end of the plateau for metal clipped at 3071 HU (12 bits).
3. Holes: photon starvation can make the inside of a large implant darker than its rim.
4. Small and moderately bright pieces are noise or dense bone, unless an adjacent slice has metal there.
5. Next to metal in adjacent slices, a slightly lower threshold applies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from acdnet.units import AIR_HU, Image, Mask

FLOOR_HU = 2200.0
"""Darker pixels are not metal: compact bone and most enamel are below."""
PARTIAL_SHARE = 0.9
"""Share of the threshold that applies next to metal in adjacent slices."""
EDGE_SHARE = 0.6
"""Metal ends below this share of the brightest pixel nearby."""
NEARBY_MM = 4.0
REACH_MM = 6.0
"""Maximum distance of growth from a seed."""
HOLE_HU = 600.0
"""Holes with a brighter median belong to the metal; holes of tissue or air do not."""
SMALL_MM2 = 12.0
SOWN_MM2 = 3.0
SURE_HU = 3000.0
"""Smaller pieces, or those with fewer seeds (enamel with noise), must be this bright or continue in an adjacent
slice."""
LEAST_PIXELS = 2
EIGHT = np.ones((3, 3), bool)


@dataclass(frozen=True)
class Candidates:
    """The metal of one slice before adjacent slices are considered; only the window that contains any is stored."""

    shape: tuple[int, int]
    window: tuple[slice, slice]
    sure: Mask
    """Metal regardless of adjacent slices."""
    small: Mask
    """Metal if it continues in an adjacent slice."""
    maybe: Mask
    """Too dark for a seed; metal next to metal in an adjacent slice."""

    def whole(self, name: str) -> Mask:
        """Return one of the masks at the size of the slice."""
        out = np.zeros(self.shape, bool)
        out[self.window] = getattr(self, name)
        return out


def grow_metal(slices: Sequence[Image], spacing_mm: tuple[float, float], threshold_hu: float) -> Mask:
    """Find the metal of adjacent slices, n x H x W."""
    return np.stack(list(through_slices([candidates(one, spacing_mm, threshold_hu) for one in slices])))


def candidates(hu: Image, spacing_mm: tuple[float, float], threshold_hu: float) -> Candidates:
    """Segment one slice. Values that are not finite, with which some programs mark metal, count as the brightest."""
    finite = np.isfinite(hu)
    image = hu if finite.all() else np.where(finite, hu, hu[finite].max(initial=AIR_HU))
    seeds = image > threshold_hu
    shape = (seeds.shape[0], seeds.shape[1])
    possible = image > min(FLOOR_HU, threshold_hu)
    if not possible.any():
        nothing = np.zeros((0, 0), bool)
        return Candidates(shape, (slice(0, 0), slice(0, 0)), nothing, nothing, nothing)
    window = _crop(possible, spacing_mm)
    image, seeds, possible = image[window], seeds[window], possible[window]
    pixel_mm = float(np.sqrt(spacing_mm[0] * spacing_mm[1]))
    nearby = 2 * max(1, round(NEARBY_MM / pixel_mm)) + 1
    edge = possible & (image > EDGE_SHARE * ndimage.maximum_filter(image, nearby))
    reached = ndimage.distance_transform_edt(~seeds, sampling=spacing_mm) <= REACH_MM if seeds.any() else seeds
    grown = _touching(edge & reached, seeds)
    sure, small = _by_size(grown, seeds, image, pixel_mm)
    filled = _without_holes(sure, image)
    maybe = edge & (image > PARTIAL_SHARE * threshold_hu) & ~filled & ~small
    return Candidates(shape, window, filled, small, maybe)


def through_slices(found: Sequence[Candidates]) -> Iterator[Mask]:
    """Decide doubtful pixels by the adjacent slices; yield the masks."""
    for n, here in enumerate(found):
        adjacent = [found[m] for m in (n - 1, n + 1) if 0 <= m < len(found) and found[m].shape == here.shape]
        sure, small, maybe = (here.whole(name) for name in ("sure", "small", "maybe"))
        if not adjacent or not (small.any() or maybe.any()):
            yield sure
            continue
        certain = np.logical_or.reduce([other.whole("sure") for other in adjacent])
        bright = np.logical_or.reduce([certain, *(other.whole("small") for other in adjacent)])
        goes_on = _touching(small, small & ndimage.binary_dilation(bright, EIGHT))
        yield sure | goes_on | (maybe & certain)


def _crop(mask: Mask, spacing_mm: tuple[float, float]) -> tuple[slice, slice]:
    """Return the window around a mask with a margin."""
    found = ndimage.find_objects(mask.astype(np.int8))[0]
    rooms = [round((REACH_MM + NEARBY_MM) / mm) + 2 for mm in spacing_mm]
    rows, columns = (
        slice(max(0, part.start - room), part.stop + room) for part, room in zip(found, rooms, strict=True)
    )
    return rows, columns


def _touching(mask: Mask, seeds: Mask) -> Mask:
    """Keep the pieces of a mask that contain a seed."""
    pieces, count = ndimage.label(mask, EIGHT)
    held = np.zeros(count + 1, bool)
    held[np.unique(pieces[seeds])] = True
    held[0] = False
    return np.asarray(held[pieces])


def _by_size(mask: Mask, seeds: Mask, image: Image, pixel_mm: float) -> tuple[Mask, Mask]:
    """Separate pieces with enough or bright enough seeds from the others."""
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


def _without_holes(mask: Mask, image: Image) -> Mask:
    holes, count = ndimage.label(ndimage.binary_fill_holes(mask) & ~mask)
    if not count:
        return mask
    median = np.asarray(ndimage.median(image, holes, np.arange(1, count + 1)))
    return np.asarray(mask | np.r_[False, median > HOLE_HU][holes])
