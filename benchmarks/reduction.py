"""What `acdnet reduce` costs: `python -m benchmarks.reduction [--slices 200 --metal 60 --model NAME]`.

A DICOM series of 512 x 512 with metal in some slices is made and reduced by the command itself, in a process of its own
whose memory is read at the end. Beside it stand the bare steps on such a slice, the first image and the network, one
core each, as `reduce` computes them. Rounds alternate; medians are told.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from acdnet.fast.malloc import keep_freed_memory
from acdnet.io.dicom.create import new_series, write_series
from acdnet.physics.implants.anatomy import find_anatomy
from acdnet.physics.implants.draw import draw_implant
from acdnet.physics.phantom import make_phantom
from acdnet.physics.simulate import simulate
from acdnet.reduction.array import in_parallel
from acdnet.reduction.reducer import Reducer, make_reducer, reduce_slice

SIZE, SLICES, METAL, ROUNDS = 512, 200, 60, 2
COLUMNS = ("method", "whole series", "a metal slice", "bare steps", "ratio", "times LI", "memory")


@dataclass(frozen=True)
class Row:
    """One method: seconds for the series, and for a slice with nothing around it."""

    name: str
    series: float
    metal_slices: int
    bare: float
    li: float
    megabytes: float

    def cells(self) -> tuple[str, ...]:
        each = self.series / self.metal_slices
        return (
            self.name,
            f"{self.series:.1f} s",
            f"{each:.2f} s",
            f"{self.bare:.2f} s",
            f"{each / self.bare:.2f}",
            f"{self.series / self.li:.1f} x",
            f"{self.megabytes:.0f} MB",
        )


def make_volume(slices: int, metal: int) -> tuple[NDArray[np.float32], float]:
    """Make a pelvis of so many slices, with a hip prosthesis in some in the middle."""
    phantom = make_phantom("pelvis", 4_000_000, SIZE)
    anatomy = find_anatomy(phantom.hu, phantom.pixel_mm)
    implant = draw_implant(anatomy, np.random.default_rng(7), ("hip-cup",))
    scanned = simulate(phantom.hu, implant.mask, "clinical", 1, phantom.pixel_mm, implant.metal).corrupted
    first = (slices - metal) // 2
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 3, (8, SIZE, SIZE)).astype(np.float32)
    volume = [(scanned if first <= n < first + metal else phantom.hu) + noise[n % 8] for n in range(slices)]
    return np.stack(volume), phantom.pixel_mm


def run_series(source: Path, out: Path, method: str, model: str) -> tuple[float, float]:
    """Reduce a series by the command; return seconds and the peak of memory in MB."""
    script = (
        "import sys; from acdnet.cli.app import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "told = open('/proc/self/status').read()\n"  # the peak since the start; that of getrusage is inherited
        "print('peak', int(told.split('VmHWM:')[1].split()[0]) / 1024)"
    )
    command = [sys.executable, "-c", script, "reduce", str(source), str(out), "--method", method, "--model", model]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.perf_counter() - start, float(done.stdout.rsplit("peak", 1)[1])


def bare_seconds(reducer: Reducer, hu: NDArray[np.float32], metal: NDArray[np.bool_], mm: float, cores: int) -> float:
    """Time the bare steps of a slice, all cores at work on slices of their own; seconds a slice."""
    start = time.perf_counter()
    list(in_parallel(lambda _: reduce_slice(reducer, hu, metal, (mm, mm)), range(2 * cores), cores))
    return (time.perf_counter() - start) / (2 * cores)


def measure(
    slices: int = SLICES, metal: int = METAL, models: tuple[str, ...] = ("default",), rounds: int = ROUNDS
) -> list[Row]:
    """Measure LI and networks."""
    keep_freed_memory()  # as the command does
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else torch.get_num_threads()
    names = [("li", ""), *(("acdnet", model) for model in models)]
    reducers = [make_reducer(method, model or "default") for method, model in names]
    with tempfile.TemporaryDirectory() as folder:
        volume, mm = make_volume(slices, metal)
        source = write_series(Path(folder) / "in", new_series(volume, (3.0, mm, mm), "bench"))
        hu = volume[slices // 2]
        from acdnet.methods.metal import find_metal

        mask = find_metal(hu, (mm, mm))
        series: list[list[float]] = [[] for _ in names]
        bare: list[list[float]] = [[] for _ in names]
        memory = [0.0] * len(names)
        for n in range(rounds):
            for k, (method, model) in enumerate(names):
                seconds, peak = run_series(source, Path(folder) / f"{k}-{n}", method, model or "default")
                series[k].append(seconds)
                memory[k] = max(memory[k], peak)
                bare[k].append(bare_seconds(reducers[k], hu, mask, mm, cores))
    medians = [statistics.median(times) for times in series]
    return [
        Row(reducer.label, medians[k], metal, statistics.median(bare[k]), medians[0], memory[k])
        for k, reducer in enumerate(reducers)
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slices", type=int, default=SLICES)
    parser.add_argument("--metal", type=int, default=METAL)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--model", action="append", default=[])
    args = parser.parse_args()
    table = Table(*COLUMNS, title=f"{args.slices} slices of {SIZE} x {SIZE}, metal in {args.metal}")
    for row in measure(args.slices, args.metal, tuple(args.model) or ("default",), args.rounds):
        table.add_row(*row.cells())
    Console().print(table)


if __name__ == "__main__":
    main()
