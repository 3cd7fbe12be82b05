"""The first pass over a scan: find the metal, and check what only all slices together tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from acdnet.files import sha256
from acdnet.io.scan import Scan
from acdnet.io.slices import Mask, Slice
from acdnet.methods.metal import LOCALISER
from acdnet.reduction.guard import check_finite
from acdnet.reduction.masks import read_mask
from acdnet.reduction.objects import Objects
from acdnet.reduction.parallel import core_count
from acdnet.reduction.scan_metal import find_scan_metal, visit_all
from acdnet.reduction.settings import Progress, Settings

MAX_DARKEST_HU, MIN_BRIGHTEST_HU = -300.0, 0.0
"""A scan without air or without tissue probably has other units."""


@dataclass(frozen=True)
class FirstPass:
    """What the first pass found."""

    masks: list[Mask]
    objects: Objects
    content: str
    """A hash of the slices and of the metal."""
    spacing_mm: tuple[float, float]
    """Of the first slice."""


def first_pass(scan: Scan, settings: Settings, progress: Progress) -> FirstPass:
    """Read all slices once."""
    how, hashes, not_finite = settings.segmentation, list[str](), list[int]()
    lowest, highest, ceiling = np.inf, -np.inf, -np.inf
    spacings: list[tuple[float, float]] = []
    shapes: list[tuple[int, int]] = []

    def visit(n: int, slice_: Slice) -> None:
        nonlocal lowest, highest, ceiling
        ceiling = max(ceiling, slice_.ceiling_hu)
        spacings.append(slice_.spacing_mm)
        shapes.append((slice_.hu.shape[0], slice_.hu.shape[1]))
        finite = slice_.hu[np.isfinite(slice_.hu)]
        lowest, highest = min(lowest, finite.min(initial=lowest)), max(highest, finite.max(initial=highest))
        if finite.size < slice_.hu.size:
            not_finite.append(n)
        hashes.append(sha256(slice_.hu.tobytes() + repr(slice_.spacing_mm).encode()))
        progress("finding metal", len(hashes), len(scan))

    if settings.mask is None:
        found = find_scan_metal(scan, how, visit, core_count(settings.workers))
        objects = Objects.decide(found.objects, settings.keep, settings.drop)
        masks = objects.masks(shapes) if how.kind == LOCALISER else found.masks
    else:
        visit_all(scan, visit)
        objects, masks = Objects(), read_mask(settings.mask, scan, shapes)
        hashes += [sha256(np.packbits(mask).tobytes()) for mask in masks]
    if lowest > MAX_DARKEST_HU or highest < MIN_BRIGHTEST_HU:
        scan.warnings.append(f"values range from {lowest:.4g} to {highest:.4g}; check that they are HU")
    if settings.mask is None and how.kind != LOCALISER and how.threshold_hu >= ceiling:
        scan.warnings.append("the metal threshold is above the largest value of this scan; no metal can be found")
    for n in not_finite:
        check_finite(scan.read(n), masks[n], how.threshold_hu, n)
    empty = np.broadcast_to(np.False_, (1, 1))
    compact = [mask if mask.any() else np.broadcast_to(empty, mask.shape) for mask in masks]
    return FirstPass(compact, objects, sha256("".join(hashes).encode()), spacings[0])
