"""Find the metal of a scan, slice by slice; adjacent slices are seen together."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from acdnet.io.scan import Scan
from acdnet.io.slices import Mask, Slice
from acdnet.methods.grown_metal import candidates, through_slices
from acdnet.methods.localise import MetalObject, Part, find_parts, linked, localiser, masks_of
from acdnet.methods.metal import GROWN, LOCALISER, Segmentation
from acdnet.reduction.guard import check_scope
from acdnet.reduction.parallel import in_parallel
from acdnet.units import AIR_HU, Image

MAX_GAP = 1.5
"""Slices further apart than this multiple of the median spacing are not adjacent."""
Visit = Callable[[int, Slice], None]
"""Called with the number and the data of each slice."""


@dataclass(frozen=True)
class ScanMetal:
    """The metal of every slice, and the objects that the localiser found, doubtful ones among them."""

    masks: list[Mask]
    objects: list[MetalObject] = field(default_factory=list)


def find_scan_metal(
    scan: Scan, how: Segmentation, visit: Visit = lambda _number, _slice: None, workers: int = 1
) -> ScanMetal:
    """Find the metal of a scan."""
    if how.kind == LOCALISER:
        return _localised(scan, visit, workers)
    if how.kind == GROWN:
        found = [candidates(hu, spacing, how.threshold_hu) for hu, spacing in _read(scan, visit)]
        runs = adjacent_runs(scan.heights)
        return ScanMetal([mask for start, stop in runs for mask in through_slices(found[start:stop])])
    return ScanMetal([~(hu <= how.threshold_hu) for hu, _ in _read(scan, visit)])


def _localised(scan: Scan, visit: Visit, workers: int) -> ScanMetal:
    network = localiser()
    runs = adjacent_runs(scan.heights)
    shapes: list[tuple[int, ...]] = []

    def work(item: tuple[int, list[Image | None], tuple[float, float]]) -> list[Part]:
        number, slices, spacing = item
        return find_parts(network, number, slices, spacing)

    parts = []
    for (_, slices, _), found in in_parallel(work, _triples(_read(scan, visit), runs), workers):
        assert slices[1] is not None
        shapes.append(slices[1].shape)
        parts.append(found)
    objects = [one for start, stop in runs for one in linked(parts[start:stop])]
    return ScanMetal(masks_of(objects, shapes), objects)


def visit_all(scan: Scan, visit: Visit) -> None:
    """Read the slices in order without looking for metal."""
    for _ in _read(scan, visit):
        pass


def _read(scan: Scan, visit: Visit) -> Iterator[tuple[Image, tuple[float, float]]]:
    """Read the slices in order; yield HU and spacing."""
    for n in range(len(scan)):
        slice_ = scan.read(n)
        check_scope(slice_, n)
        visit(n, slice_)
        yield np.where(slice_.fixed, np.float32(AIR_HU), slice_.hu), slice_.spacing_mm


def _triples(
    slices: Iterator[tuple[Image, tuple[float, float]]], runs: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, list[Image | None], tuple[float, float]]]:
    """Yield the number of each slice, the slice between its adjacent ones, and its spacing."""
    starts = {start for start, _ in runs}
    below: Image | None = None
    here: tuple[Image, tuple[float, float]] | None = None
    n = 0
    for n, above in enumerate(itertools.chain(slices, [None])):
        if here is not None:
            adjacent = above[0] if above is not None and n not in starts else None
            yield n - 1, [below, here[0], adjacent], here[1]
        below = here[0] if here is not None and n not in starts else None
        here = above


def adjacent_runs(heights: Sequence[float | None]) -> list[tuple[int, int]]:
    """Split a scan at gaps; return the start and stop of each run of adjacent slices."""
    steps = [b - a if a is not None and b is not None else None for a, b in itertools.pairwise(heights)]
    known = [step for step in steps if step is not None and step > 0]
    limit = MAX_GAP * float(np.median(known)) if known else 0.0
    cuts = [n + 1 for n, step in enumerate(steps) if step is None or step > limit]
    edges = [0, *cuts, len(heights)]
    return list(itertools.pairwise(edges))
