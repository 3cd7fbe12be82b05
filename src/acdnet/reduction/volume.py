"""`acdnet.reduce`: a volume in memory in, a volume out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from acdnet.errors import InputRefused
from acdnet.metal import Segmentation, candidates, through_slices
from acdnet.reduction.guard import check_finite, check_scope, is_saturated, look_at, why_left_alone
from acdnet.reduction.masks import as_mask
from acdnet.reduction.record import UNCHANGED, SliceRecord, passed_through, reduced
from acdnet.reduction.reducer import Outcome, Reducer, make_reducer, reduce_slice
from acdnet.scans.arrays import ArrayScan, ArrayWriter
from acdnet.scans.scan import Scan, ScanSlice
from acdnet.units import AIR_HU

Mask = NDArray[np.bool_]
WIDEST_STEP = 1.5
"""Slices further apart than this many usual steps are no neighbours."""


@dataclass(frozen=True)
class Result:
    """A reduced volume in HU, the metal that was found, the expected error, and what happened to every slice."""

    hu: NDArray[Any]
    metal: Mask
    doubt: NDArray[np.float32] | None
    slices: list[SliceRecord]


def reduce(
    volume_hu: NDArray[Any],
    spacing_mm: Sequence[float],
    method: str = "acdnet",
    model: str = "default",
    metal: Mask | None = None,
    metal_threshold: float = 2500.0,
    device: str = "auto",
) -> Result:
    """Reduce the metal artifacts of a volume, n x H x W, or a slice, H x W, in HU.

    `spacing_mm` is the distance of rows and columns, or of slices, rows and columns. The metal is found, or given as a
    mask of the same shape. Slices without metal come back as they are, and so does the metal itself.
    """
    array = np.asarray(volume_hu)
    scan = ArrayScan(array, _spacing(spacing_mm))
    how = Segmentation(threshold_hu=metal_threshold)
    reducer = make_reducer(method, model, device)
    masks = [np.asarray(part) for part in _given(metal, array)] if metal is not None else None
    found = masks or list(find_all(scan, how, lambda _n, _slice: None))
    writer, records = ArrayWriter(scan, None), []
    doubt = np.zeros(scan.slices.shape, np.float32)
    for n, mask in enumerate(found):
        slice_ = scan.read(n)
        check_scope(slice_, n)
        record, outcome = treat(slice_, mask, reducer, how, n)
        if outcome is not None:
            writer.write(n, outcome.change)
            if outcome.doubt is not None:
                doubt[n] = outcome.doubt
        records.append(record)
    knows = method == "acdnet"
    return Result(
        writer.after, np.stack(found).reshape(array.shape), doubt.reshape(array.shape) if knows else None, records
    )


def _spacing(spacing_mm: Sequence[float]) -> tuple[float, ...]:
    try:
        given = tuple(float(mm) for mm in spacing_mm)
    except TypeError:
        given = ()
    if len(given) not in (2, 3) or not all(np.isfinite(mm) and mm > 0 for mm in given):
        raise InputRefused(f"spacing_mm is {spacing_mm}; rows and columns, or slices, rows and columns, in mm")
    return given


def _given(metal: Mask, array: NDArray[Any]) -> NDArray[np.bool_]:
    mask = np.asarray(metal)
    if mask.shape != array.shape:
        raise InputRefused(f"the metal mask is {mask.shape}, the volume {array.shape}")
    return as_mask(mask, "the metal mask").reshape(-1, *array.shape[-2:])


def find_all(scan: Scan, how: Segmentation, seen: Callable[[int, ScanSlice], None]) -> Iterator[Mask]:
    """Find the metal of all slices of a scan; `seen` is called with the number and each as it is read."""
    found = []
    for n in range(len(scan)):
        slice_ = scan.read(n)
        check_scope(slice_, n)
        seen(n, slice_)
        hu = np.where(slice_.fixed, np.float32(AIR_HU), slice_.hu)
        found.append(candidates(hu, slice_.spacing_mm, how))
    for start, stop in neighbours(scan.heights):
        yield from through_slices(found[start:stop])


def neighbours(heights: Sequence[float | None]) -> list[tuple[int, int]]:
    """Part a scan where slices do not lie beside each other; each piece from and to."""
    steps = [b - a if a is not None and b is not None else None for a, b in itertools.pairwise(heights)]
    known = [step for step in steps if step is not None and step > 0]
    limit = WIDEST_STEP * float(np.median(known)) if known else 0.0
    cuts = [n + 1 for n, step in enumerate(steps) if step is None or step > limit]
    edges = [0, *cuts, len(heights)]
    return list(itertools.pairwise(edges))


def treat(
    slice_: ScanSlice, metal: Mask, reducer: Reducer, how: Segmentation, number: int
) -> tuple[SliceRecord, Outcome | None]:
    """Do what is to be done with a slice: nothing, or reduce it and look at the result."""
    check_finite(slice_, metal, how.threshold_hu, number)
    if not metal.any():
        return SliceRecord(number + 1, UNCHANGED), None
    saturated, pixels = is_saturated(slice_, metal), int(metal.sum())
    if reason := why_left_alone(slice_, metal):
        return passed_through(number + 1, pixels, saturated, reason), None
    outcome = reduce_slice(reducer, slice_.hu, metal, slice_.spacing_mm)
    change = np.where(slice_.fixed, np.float32(0.0), _in_steps(outcome.change, slice_.step_hu))
    if not np.isfinite(change).all():
        return passed_through(number + 1, pixels, saturated, "the result was not finite"), None
    findings = look_at(slice_, metal, change)
    doubt = None if outcome.doubt is None else float(outcome.doubt[~metal].mean())
    return reduced(number + 1, pixels, saturated, findings, doubt), Outcome(change, outcome.doubt)


def _in_steps(change: NDArray[np.float32], step: float) -> NDArray[np.float32]:
    """Round a change to what the numbers of the scan can hold, so that a report tells what is written."""
    return np.asarray(np.rint(change / step) * step, np.float32) if step else change


def in_parallel(work: Callable[[int], Any], numbers: Sequence[int], workers: int) -> Iterator[tuple[int, Any]]:
    """Call work(n) in threads that use one core each, torch included; yield (n, result) as they finish, in order.

    Each slice is computed by one core, so that the number of workers does not change a bit of it.
    """
    before = torch.get_num_threads()
    pool = ThreadPoolExecutor(workers, "slices", initializer=torch.set_num_threads, initargs=(1,))
    waiting: list[tuple[int, Future[Any]]] = []
    try:
        for n in numbers:
            waiting.append((n, pool.submit(work, n)))
            if len(waiting) > workers:
                first, future = waiting.pop(0)
                yield first, future.result()
        for first, future in waiting:
            yield first, future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        torch.set_num_threads(before)
