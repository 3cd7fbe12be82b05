"""Reduce a volume in memory: `acdnet.reduce`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.io.arrays import ArrayScan, ArrayWriter
from acdnet.io.slices import Mask
from acdnet.limits import as_mask, as_spacing_mm
from acdnet.methods.metal import choose_segmentation
from acdnet.methods.registry import get_method
from acdnet.reduction.guard import check_scope
from acdnet.reduction.parallel import in_parallel, worker_count
from acdnet.reduction.scan_metal import find_scan_metal
from acdnet.reduction.slice_report import SliceReport
from acdnet.reduction.slices import SliceResult, SliceTask, batch_size, in_batches, reduce_slices


@dataclass(frozen=True)
class ReducedVolume:
    """A reduced volume with its metal mask, the expected error, and a report per slice."""

    hu: NDArray[Any]
    mask: Mask
    expected_error_hu: NDArray[np.float32] | None
    """None for methods without an error estimate."""
    slices: list[SliceReport]


def reduce(
    volume_hu: NDArray[Any],
    spacing_mm: Sequence[float],
    method: str = "acdnet",
    mask: Mask | None = None,
    metal_threshold: float | None = None,
    device: str = "auto",
    workers: int = 1,
) -> ReducedVolume:
    """Reduce the metal artifacts of a volume, n x H x W, or a slice, H x W, in HU.

    Args:
        volume_hu: the scan; an integer array gives an integer result.
        spacing_mm: row and column spacing, or slice, row and column spacing.
        method: a method, a shipped model, or a `.safetensors` file (see `acdnet.get_method`).
        mask: the metal, in the shape of the volume; by default it is detected.
        metal_threshold: find metal by this HU value instead of the localiser.
        device: auto, cpu, cuda, cuda:1 ...
        workers: number of slices processed in parallel, one core each; 0 uses all cores, at most 8.

    Slices without metal and the metal itself are returned unchanged.

    """
    array = np.asarray(volume_hu)
    scan = ArrayScan(array, as_spacing_mm(spacing_mm))
    how = choose_segmentation("", metal_threshold)
    chosen = get_method(method, device)
    masks = list(_as_masks(mask, array)) if mask is not None else find_scan_metal(scan, how).masks
    tasks = [SliceTask(n, scan.read(n), metal) for n, metal in enumerate(masks)]
    for task in tasks:
        check_scope(task.slice, task.number)

    def work(numbers: Sequence[int]) -> list[SliceResult]:
        return reduce_slices([tasks[n] for n in numbers], chosen, how.threshold_hu)

    writer = ArrayWriter(scan, None)
    errors = np.zeros(scan.slices.shape, np.float32)
    reports, has_error = [], False
    batches = in_batches(range(len(tasks)), batch_size(chosen))
    for numbers, results in in_parallel(work, batches, worker_count(chosen, workers, len(batches))):
        for n, result in zip(numbers, results, strict=True):
            writer.write(n, result.change)
            reports.append(result.report)
            if result.expected_error_hu is not None:
                errors[n], has_error = result.expected_error_hu, True
    found = np.stack(masks).reshape(array.shape)
    return ReducedVolume(writer.after, found, errors.reshape(array.shape) if has_error else None, reports)


def _as_masks(mask: Mask, array: NDArray[Any]) -> Mask:
    return as_mask(mask, shape=array.shape).reshape(-1, *array.shape[-2:])
