"""What `acdnet reduce` costs: `python -m benchmarks.reduction [--slices 200 --metal 60 --methods li,acdnet]`.

A DICOM series of 512 x 512 with metal in some slices is made and reduced by the command itself, in a process of its own
whose memory is read at the end. It is compared with the bare steps for such a slice, the method alone, on the same
cores. Rounds alternate; the medians are given.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acdnet.fast.malloc import keep_freed_memory
from acdnet.io.dicom.create import new_series, write_series
from acdnet.io.slices import Slice
from acdnet.methods.metal import Segmentation, find_metal
from acdnet.methods.method import Method
from acdnet.methods.registry import get_method
from acdnet.physics.implants.anatomy import find_anatomy
from acdnet.physics.implants.draw import draw_implant
from acdnet.physics.phantom import make_phantom
from acdnet.physics.simulate import simulate
from acdnet.reduction.parallel import in_parallel
from acdnet.reduction.slices import SliceTask, reduce_slices
from benchmarks.harness import Table, main, run_python

SIZE, SLICES, METAL, ROUNDS = 512, 200, 60, 2
METHODS = "li,acdnet,benchmark-full"
"""LI, the small default network, and the paper's sizes."""
COLUMNS = ("method", "whole series", "a metal slice", "bare steps", "ratio", "times LI", "memory")
COMMAND = (
    "import sys; from acdnet.cli.app import app\n"
    "try: app(sys.argv[1:])\n"
    "except SystemExit as end: assert not end.code, end.code\n"
    "from benchmarks.harness import megabytes; print(megabytes('VmHWM'))"
)
"""Runs the command and prints its peak memory in MB; that of getrusage is inherited."""


def make_volume(slices: int, metal: int) -> tuple[NDArray[np.float32], float]:
    """Make a pelvis, with a hip prosthesis in `metal` slices in the middle; return its pixel size, too."""
    phantom = make_phantom("pelvis", 4_000_000, SIZE)
    anatomy = find_anatomy(phantom.hu, phantom.pixel_mm)
    implant = draw_implant(anatomy, np.random.default_rng(7), ("hip-cup",))
    scanned = simulate(phantom.hu, implant.mask, "clinical", 1, phantom.pixel_mm, implant.metal).corrupted
    first = (slices - metal) // 2
    noise = np.random.default_rng(0).normal(0, 3, (8, SIZE, SIZE)).astype(np.float32)
    volume = [(scanned if first <= n < first + metal else phantom.hu) + noise[n % 8] for n in range(slices)]
    return np.stack(volume), phantom.pixel_mm


def bare_seconds(method: Method, task: SliceTask) -> float:
    """Time the method alone, all cores at work on slices of their own; seconds per slice."""
    cores = len(os.sched_getaffinity(0))
    start = time.perf_counter()
    threshold = Segmentation().threshold_hu
    list(in_parallel(lambda _: reduce_slices([task], method, threshold), range(2 * cores), cores))
    return (time.perf_counter() - start) / (2 * cores)


def measure(methods: str = METHODS, slices: int = SLICES, metal: int = METAL, rounds: int = ROUNDS) -> Table:
    """Reduce the series with every method in turn; the first method is that of the column `times LI`."""
    keep_freed_memory()  # as the command does
    names = methods.split(",")
    found = [get_method(name, "cpu") for name in names]
    series: list[list[float]] = [[] for _ in found]
    bare: list[list[float]] = [[] for _ in found]
    memory: list[list[float]] = [[] for _ in found]
    with tempfile.TemporaryDirectory() as folder:
        volume, mm = make_volume(slices, metal)
        source = write_series(Path(folder) / "in", new_series(volume, (3.0, mm, mm), "bench"))
        hu = volume[slices // 2]
        task = SliceTask(0, Slice(hu, (mm, mm)), find_metal(hu, (mm, mm)))
        for n in range(rounds):
            for k, (name, method) in enumerate(zip(names, found, strict=True)):
                out = str(Path(folder) / f"{k}-{n}")
                start = time.perf_counter()
                memory[k].append(float(run_python("-c", COMMAND, "reduce", str(source), out, "--method", name)))
                series[k].append(time.perf_counter() - start)
                bare[k].append(bare_seconds(method, task))
    rows = []
    for k, method in enumerate(found):
        whole, alone, li = (statistics.median(times) for times in (series[k], bare[k], series[0]))
        each = whole / metal
        costs = f"{whole:.1f} s", f"{each:.2f} s", f"{alone:.2f} s", f"{each / alone:.2f}", f"{whole / li:.1f} x"
        rows.append([method.label, *costs, f"{max(memory[k]):.0f} MB"])
    note = f"{slices} DICOM slices of {SIZE} x {SIZE} with metal in {metal}; medians of {rounds} alternating rounds."
    return Table(COLUMNS, rows, [note])


if __name__ == "__main__":
    main(measure)
