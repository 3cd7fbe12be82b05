"""Projector, FBP and whole pairs against plain statements of the same steps: `python -m benchmarks.physics`.

Times are medians of alternating runs in one process; a pair is one implant of the benchmark's protocol in a slice
that is measured once for four. Peak memory is that of a process of its own, programs and libraries included. "a
worker's share" is the time of one process that uses one thread, divided by the number of cores: this is how
`acdnet simulate` works.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from acdnet.physics.beam import beam, water_correction
from acdnet.physics.fbp import fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.implants.anatomy import find_anatomy
from acdnet.physics.implants.draw import draw_implant
from acdnet.physics.materials import material
from acdnet.physics.measurement import attenuation
from acdnet.physics.phantom import make_phantom
from acdnet.physics.projector import back_project, project
from acdnet.physics.scanner import BenchmarkScanner, ClinicalScanner
from acdnet.physics.tissue import split
from acdnet.physics.trace import interpolate, soften_edges
from acdnet.units import hu_from_mu
from benchmarks import plain_physics as plain

Floats = NDArray[np.float32]
ROUNDS = 5
PAIRS = 4
CONTESTANTS = ("numpy, 1 thread", "numba", "ours", "ours, a worker's share")
COLUMNS = ("task", "statement", "seconds each", "each second", "ours is faster by")
GEOMETRY = FanBeam.benchmark()


@dataclass(frozen=True)
class Case:
    """A slice and its implants."""

    hu: Floats
    metals: list[NDArray[np.bool_]]


def make_case() -> Case:
    """Make a pelvis with implants of several sizes."""
    phantom = make_phantom("pelvis", 1)
    anatomy, rng = find_anatomy(phantom.hu, phantom.pixel_mm), np.random.default_rng(0)
    return Case(phantom.hu, [draw_implant(anatomy, rng).mask for _ in range(PAIRS)])


def our_pairs(case: Case) -> list[Floats]:
    """Make the pairs of a slice."""
    scanner, rng = BenchmarkScanner(case.hu), np.random.default_rng(0)
    return [scanner.with_metal(metal, "titanium", rng).corrupted for metal in case.metals]


def clinical_pairs(case: Case) -> list[Floats]:
    """Make the pairs of a slice in the clinical protocol."""
    scanner, rng = ClinicalScanner(case.hu, 1.0, np.random.default_rng(0)), np.random.default_rng(0)
    return [scanner.with_metal(metal, "titanium", rng).corrupted for metal in case.metals]


def plain_pairs(case: Case, forward: Callable[..., Floats], backward: Callable[..., Floats]) -> list[Floats]:
    """Make the pairs of a slice step by step, on whole sinograms."""
    source, rng = beam("benchmark"), np.random.default_rng(0)
    keV, weight = np.array(source.keV), np.array(source.weight, np.float32)
    correction = water_correction(source)
    names = ("water", "bone", "titanium")
    relative = np.stack([material(name).relative(keV) for name in names]).astype(np.float32)
    tissue = [forward(part.numpy(), GEOMETRY) for part in split(attenuation(case.hu))]

    def reconstruct(sinogram: Floats) -> Floats:
        return backward(plain.ramp(sinogram, GEOMETRY), GEOMETRY) * np.float32(np.pi / GEOMETRY.views)

    made = []
    for metal in case.metals:
        path = forward(metal.astype(np.float32), GEOMETRY)
        soft = soften_edges(torch.from_numpy(path)).numpy() * np.float32(material("titanium").mu)
        share = np.stack(
            [
                np.exp(-np.stack([*views, thick], -1) @ relative) @ weight
                for *views, thick in zip(*tissue, soft, strict=True)
            ]
        )
        counted = np.maximum(rng.poisson(np.round(2e7 * share.astype(float)) + 20.0), 1)
        p = -np.log(counted / 2e7)
        sinogram = np.polynomial.Polynomial([0.0, *correction])(p).astype(np.float32)
        filled = interpolate(torch.from_numpy(sinogram), torch.from_numpy(path > 0)).numpy()
        made.append(reconstruct(sinogram))
        reconstruct(filled)
    return made


def tasks(case: Case) -> dict[str, dict[str, Callable[[], object]]]:
    """List what each contestant does for each task; a task's time is divided by what it treats."""
    image = attenuation(case.hu).numpy()
    lines = plain.numba_project(image, GEOMETRY)
    images, sinograms = torch.from_numpy(np.stack([image] * 2)), torch.from_numpy(np.stack([lines] * 2))
    filtered = plain.ramp(lines, GEOMETRY)
    ours = {
        "projection": lambda: project(images, GEOMETRY),
        "back-projection": lambda: back_project(sinograms, GEOMETRY),
        "FBP": lambda: fbp(sinograms, GEOMETRY, "benchmark"),
        "pairs": lambda: our_pairs(case),
    }
    found: dict[str, dict[str, Callable[[], object]]] = {}
    for task, run in ours.items():
        by_numpy: dict[str, Callable[[], object]] = {
            "projection": lambda: plain.numpy_project(image, GEOMETRY),
            "back-projection": lambda: plain.numpy_back_project(filtered, GEOMETRY),
            "FBP": lambda: plain.numpy_back_project(plain.ramp(lines, GEOMETRY), GEOMETRY),
            "pairs": lambda: plain_pairs(case, plain.numpy_project, plain.numpy_back_project),
        }
        by_numba: dict[str, Callable[[], object]] = {
            "projection": lambda: plain.numba_project(image, GEOMETRY),
            "back-projection": lambda: plain.numba_back_project(filtered, GEOMETRY),
            "FBP": lambda: plain.numba_back_project(plain.ramp(lines, GEOMETRY), GEOMETRY),
            "pairs": lambda: plain_pairs(case, plain.numba_project, plain.numba_back_project),
        }
        found[task] = {CONTESTANTS[0]: by_numpy[task], CONTESTANTS[1]: by_numba[task], CONTESTANTS[2]: run}
        if task == "pairs":
            found[task][CONTESTANTS[3]] = run
    found["clinical pairs"] = {name: lambda: clinical_pairs(case) for name in CONTESTANTS[2:]}
    return found


TREATED = {"projection": 2, "back-projection": 2, "FBP": 2, "pairs": PAIRS, "clinical pairs": PAIRS}
"""How many slices or pairs ours treats at a time; the plain ones treat one slice, and all pairs."""


def measure(rounds: int) -> dict[str, dict[str, float]]:
    """Return the median seconds per slice or pair of each contestant at each task."""
    threads = torch.get_num_threads()
    found: dict[str, dict[str, float]] = {}
    for task, runs in tasks(make_case()).items():
        times: dict[str, list[float]] = {name: [] for name in runs}
        for turn in range(rounds + 1):
            for name, run in runs.items():
                if turn > 2 and name == CONTESTANTS[0]:
                    continue  # slow, and steady enough
                alone = name == CONTESTANTS[3]
                torch.set_num_threads(1 if alone else threads)
                start = time.perf_counter()
                run()
                seconds = time.perf_counter() - start
                torch.set_num_threads(threads)
                if turn > 0:
                    treated = TREATED[task] if name.startswith("ours") or task == "pairs" else 1
                    times[name].append(seconds / treated / (threads if alone else 1))
        found[task] = {name: statistics.median(values) for name, values in times.items()}
    return found


def agreement(case: Case) -> tuple[float, float]:
    """Return the mean and the largest difference in HU between our pairs and the plain ones (same photons drawn)."""
    theirs = plain_pairs(case, plain.numba_project, plain.numba_back_project)
    apart = [np.abs(ours - hu_from_mu(mu)) for ours, mu in zip(our_pairs(case), theirs, strict=True)]
    return float(np.mean(apart)), float(np.max(apart))


def peak_megabytes(name: str) -> float:
    """Make pairs in a process of its own; return the most memory it ever held."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.physics", "--memory-of", name],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    return float(done.stdout)


def _print_memory(name: str) -> None:
    case = make_case()
    Path("/proc/self/clear_refs").write_text("5")
    if name == "ours":
        our_pairs(case)
    else:
        plain_pairs(case, plain.numba_project, plain.numba_back_project)
    status = Path("/proc/self/status").read_text()
    print(int(status.split("VmHWM:")[1].split()[0]) / 1024)


def cells(found: dict[str, dict[str, float]]) -> list[list[str]]:
    """Return the rows of the table."""
    table = []
    for task, times in found.items():
        for name, seconds in times.items():
            faster = seconds / times[CONTESTANTS[2]]
            table.append([task, name, f"{seconds:.3f}", f"{1 / seconds:.1f}", f"{faster:.1f} x"])
    return table


def notes() -> list[str]:
    """Return what the table does not say: agreement, memory, machine."""
    mean, most = agreement(make_case())
    memory = ", ".join(f"{name} {peak_megabytes(name):.0f} MB" for name in ("numba", "ours"))
    return [
        f"416 x 416 pixels, 640 views, 641 bins, {torch.get_num_threads()} threads, torch {torch.__version__}.",
        f"Difference of our pairs from the plain ones: mean {mean:.2f} HU, at most {most:.1f} HU.",
        f"Peak memory of a process that makes pairs: {memory}.",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory-of", default="", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    if given.memory_of:
        _print_memory(given.memory_of)
        return
    console = Console(width=110)
    table = Table(*COLUMNS)
    for line in cells(measure(given.rounds)):
        table.add_row(*line)
    console.print(table)
    for note in notes():
        console.print(note)


if __name__ == "__main__":
    main()
