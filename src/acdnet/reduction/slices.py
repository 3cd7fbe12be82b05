"""Reduce slices with a method and check the results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from acdnet.io.slices import Change, Image, Mask, Slice
from acdnet.methods.li import li
from acdnet.methods.method import Method, Reduction
from acdnet.physics.measurement import Measurement
from acdnet.reduction.guard import check_finite, is_saturated, measure_change, treatable
from acdnet.reduction.slice_report import PASSED, REDUCED, UNCHANGED, SliceReport
from acdnet.units import TWELVE_BITS_HU

OUTSIDE_FIELD_HU, NO_TISSUE_HU = -1100.0, -900.0
"""Pixels below the first value that stay below the second lie outside the scan field and do not change."""
BATCH = 8
"""Slices per batch on a GPU."""


@dataclass(frozen=True)
class SliceTask:
    """A slice to reduce, with its metal and its number from 0."""

    number: int
    slice: Slice
    metal: Mask


@dataclass(frozen=True)
class _Treated:
    """A slice with its metal, except metal at the edge."""

    task: SliceTask
    metal: Mask
    reason: str
    """Why some metal is left; empty if none is."""


@dataclass(frozen=True)
class SliceResult:
    """The outcome for a slice."""

    report: SliceReport
    change: Change | None = None
    """In HU, 0 in the metal; the new value where the slice was not finite. None if the slice did not change."""
    expected_error_hu: Image | None = None


def batch_size(method: Method) -> int:
    """Return the number of slices per batch: one on a CPU, where slices run on separate cores."""
    return 1 if method.device.type == "cpu" else BATCH


def in_batches(numbers: Sequence[int], size: int) -> list[Sequence[int]]:
    """Split numbers into batches of at most `size`."""
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


def reduce_slices(tasks: Sequence[SliceTask], method: Method, threshold_hu: float) -> list[SliceResult]:
    """Reduce slices with metal and check the results; other slices stay unchanged."""
    results: dict[int, SliceResult] = {}
    to_reduce: list[_Treated] = []
    for task in tasks:
        check_finite(task.slice, task.metal, threshold_hu, task.number)
        pixels, saturated = int(task.metal.sum()), is_saturated(task.slice, task.metal)
        if not pixels:
            results[task.number] = SliceResult(SliceReport(task.number + 1, UNCHANGED))
            continue
        treated, reason = treatable(task.slice, task.metal)
        if not treated.any():
            results[task.number] = SliceResult(SliceReport(task.number + 1, PASSED, pixels, saturated, reason))
        else:
            to_reduce.append(_Treated(task, treated, reason))
    for one, change, error in _changes(to_reduce, method):
        results[one.task.number] = _checked(one.task, change, error, one.reason)
    return [results[task.number] for task in tasks]


def _changes(tasks: Sequence[_Treated], method: Method) -> Iterator[tuple[_Treated, Change, Image | None]]:
    """Yield the change and the expected error of each slice; slices of equal size form a batch."""
    groups: dict[tuple[object, ...], list[_Treated]] = {}
    for one in tasks:
        groups.setdefault((one.task.slice.hu.shape, one.task.slice.spacing_mm), []).append(one)
    for group in groups.values():
        measurements = [_measurement(one, method) for one in group]
        for one, measurement, reduction in zip(group, measurements, method.batch(measurements), strict=True):
            yield one, _change(one.task, measurement, reduction), reduction.expected_error_hu


def _measurement(one: _Treated, method: Method) -> Measurement:
    """Return the input of a method; values that are not finite, which occur only in metal, become bright."""
    hu = one.task.slice.hu
    bad = ~np.isfinite(hu)
    filled = np.where(bad, np.float32(TWELVE_BITS_HU), hu) if bad.any() else hu
    return Measurement(filled, one.metal, one.task.slice.spacing_mm, device=method.device)


def _change(task: SliceTask, one: Measurement, reduction: Reduction) -> Change:
    """Return the change in HU, 0 in the metal; the value of LI where the slice is not finite."""
    outside_field = (one.slice_hu < OUTSIDE_FIELD_HU) & (reduction.image_hu < NO_TISSUE_HU)
    change = reduction.image_hu.astype(np.float64) - one.slice_hu  # exact: adding it to the slice gives the image
    change[task.metal | outside_field] = 0.0
    bad = ~np.isfinite(task.slice.hu)
    return np.where(bad, one.to_slice(li(one)), change) if bad.any() else change


def _checked(task: SliceTask, change: Change, error: Image | None, reason: str) -> SliceResult:
    """Round a change to the steps of the stored type, and check it."""
    slice_, metal, pixels = task.slice, task.metal, int(task.metal.sum())
    saturated = is_saturated(slice_, metal)
    if slice_.step_hu:
        change = np.rint(change / slice_.step_hu) * slice_.step_hu
    change = np.where(slice_.fixed, 0.0, change)
    if not np.isfinite(change).all():
        return SliceResult(SliceReport(task.number + 1, PASSED, pixels, saturated, "the result is not finite"))
    mean_error = None if error is None else float(error[~metal].mean())
    statistics = asdict(measure_change(slice_, metal, change))
    report = SliceReport(
        task.number + 1, REDUCED, pixels, saturated, reason, **statistics, expected_error_hu=mean_error
    )
    return SliceResult(report, change, error)
