"""Detect the metal of a scan slice by slice; adjacent slices decide doubtful pixels."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from acdnet.io.scan import Scan
from acdnet.io.slices import Mask, Slice
from acdnet.methods.metal import Segmentation, candidates, through_slices
from acdnet.reduction.guard import check_scope
from acdnet.units import AIR_HU

MAX_GAP = 1.5
"""Slices further apart than this multiple of the median spacing are not adjacent."""


def find_scan_metal(
    scan: Scan, how: Segmentation, visit: Callable[[int, Slice], None] = lambda _number, _slice: None
) -> Iterator[Mask]:
    """Yield the metal mask of every slice of a scan; call `visit` with the number and data of each slice."""
    found = []
    for n in range(len(scan)):
        slice_ = scan.read(n)
        check_scope(slice_, n)
        visit(n, slice_)
        hu = np.where(slice_.fixed, np.float32(AIR_HU), slice_.hu)
        found.append(candidates(hu, slice_.spacing_mm, how))
    for start, stop in adjacent_runs(scan.heights):
        yield from through_slices(found[start:stop])


def adjacent_runs(heights: Sequence[float | None]) -> list[tuple[int, int]]:
    """Split a scan at gaps; return the start and stop of each run of adjacent slices."""
    steps = [b - a if a is not None and b is not None else None for a, b in itertools.pairwise(heights)]
    known = [step for step in steps if step is not None and step > 0]
    limit = MAX_GAP * float(np.median(known)) if known else 0.0
    cuts = [n + 1 for n, step in enumerate(steps) if step is None or step > limit]
    edges = [0, *cuts, len(heights)]
    return list(itertools.pairwise(edges))
