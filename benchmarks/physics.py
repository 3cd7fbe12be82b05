"""Projector, FBP and whole pairs against plain code for the same steps: `python -m benchmarks.physics`.

Times are medians of alternating runs in one process; a pair is one implant in a slice that is measured once for four.
Peak memory is that of a process of its own, programs and libraries included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from acdnet.methods.method import Image
from acdnet.physics.beam import beam, water_correction
from acdnet.physics.fbp import fbp
from acdnet.physics.geometry import FanBeam
from acdnet.physics.implants.anatomy import find_anatomy
from acdnet.physics.implants.draw import draw_implant
from acdnet.physics.materials import material
from acdnet.physics.measurement import attenuation
from acdnet.physics.phantom import make_phantom
from acdnet.physics.projector import project
from acdnet.physics.scanner import BenchmarkScanner, ClinicalScanner, Scanner
from acdnet.physics.tissue import split
from acdnet.physics.trace import interpolate, soften_edges
from acdnet.units import hu_from_mu
from benchmarks import plain_physics as plain
from benchmarks.harness import Table, alternate, forget_peak, main, megabytes, run_python

ROUNDS = 5
PAIRS = 4
COLUMNS = ("task", "code", "seconds each", "each second", "ours is faster by")
NUMBA, OURS = "numba", "ours"
MEMORY = "import sys; from benchmarks.physics import print_memory; print_memory(sys.argv[1])"
GEOMETRY = FanBeam.benchmark()


@dataclass(frozen=True)
class Scene:
    """A slice and its implants."""

    hu: Image
    metals: list[NDArray[np.bool_]]


def make_scene() -> Scene:
    """Make a pelvis with implants of several sizes."""
    phantom = make_phantom("pelvis", 1)
    anatomy, rng = find_anatomy(phantom.hu, phantom.pixel_mm), np.random.default_rng(0)
    return Scene(phantom.hu, [draw_implant(anatomy, rng).mask for _ in range(PAIRS)])


def our_pairs(scene: Scene, clinical: bool = False) -> list[Image]:
    """Make the pairs of a slice."""
    rng = np.random.default_rng(0)
    scanner: Scanner = BenchmarkScanner(scene.hu)
    if clinical:
        scanner = ClinicalScanner(scene.hu, 1.0, np.random.default_rng(0))
    return [scanner.with_metal(metal, "titanium", rng).corrupted for metal in scene.metals]


def plain_pairs(scene: Scene) -> list[Image]:
    """Make the pairs of a slice in the benchmark's protocol step by step, on whole sinograms; 1/cm."""
    source, rng = beam("benchmark"), np.random.default_rng(0)
    keV, weight = np.array(source.keV), np.array(source.weight, np.float32)
    correction = water_correction(source)
    names = ("water", "bone", "titanium")
    relative = np.stack([material(name).relative(keV) for name in names]).astype(np.float32)
    tissue = [plain.project(part.numpy(), GEOMETRY) for part in split(attenuation(scene.hu))]
    made = []
    for metal in scene.metals:
        path = plain.project(metal.astype(np.float32), GEOMETRY)
        soft = soften_edges(torch.from_numpy(path)).numpy() * np.float32(material("titanium").mu)
        views = zip(*tissue, soft, strict=True)
        share = np.stack([np.exp(-np.stack(paths, -1) @ relative) @ weight for paths in views])
        counted = np.maximum(rng.poisson(np.round(2e7 * share.astype(float)) + 20.0), 1)
        p = -np.log(counted / 2e7)
        sinogram = np.polynomial.Polynomial([0.0, *correction])(p).astype(np.float32)
        filled = interpolate(torch.from_numpy(sinogram), torch.from_numpy(path > 0)).numpy()
        made.append(plain.reconstruct(sinogram, GEOMETRY))
        plain.reconstruct(filled, GEOMETRY)
    return made


def measure(rounds: int = ROUNDS) -> Table:
    """Return the seconds per slice or pair of each code for each task."""
    scene = make_scene()
    image = attenuation(scene.hu).numpy()
    lines = plain.project(image, GEOMETRY)
    images, sinograms = torch.from_numpy(np.stack([image] * 2)), torch.from_numpy(np.stack([lines] * 2))
    tasks: dict[str, dict[str, tuple[Callable[[], object], float]]] = {
        "projection": {
            NUMBA: (lambda: plain.project(image, GEOMETRY), 1),
            OURS: (lambda: project(images, GEOMETRY), 2),
        },
        "FBP": {
            NUMBA: (lambda: plain.reconstruct(lines, GEOMETRY), 1),
            OURS: (lambda: fbp(sinograms, GEOMETRY, "benchmark"), 2),
        },
        "pairs": {
            NUMBA: (lambda: plain_pairs(scene), PAIRS),
            OURS: (lambda: our_pairs(scene), PAIRS),
        },
        "clinical pairs": {OURS: (lambda: our_pairs(scene, clinical=True), PAIRS)},
    }  # what each code does, and how many slices or pairs that is
    rows = []
    for task, runs in tasks.items():
        seconds = alternate({name: run for name, (run, _) in runs.items()}, rounds)
        each = {name: seconds[name] / count for name, (_, count) in runs.items()}
        rows += [[task, name, f"{s:.3f}", f"{1 / s:.1f}", f"{s / each[OURS]:.1f} x"] for name, s in each.items()]
    return Table(COLUMNS, rows, notes(scene), texts=2)


def notes(scene: Scene) -> list[str]:
    """Compare the pairs (the same photons are drawn) and the memory."""
    apart = [np.abs(a - hu_from_mu(mu)) for a, mu in zip(our_pairs(scene), plain_pairs(scene), strict=True)]
    peaks = {name: float(run_python("-c", MEMORY, name)) for name in (NUMBA, OURS)}
    memory = ", ".join(f"{name} {peak:.0f} MB" for name, peak in peaks.items())
    return [
        f"416 x 416 pixels, 640 views, 641 bins, {torch.get_num_threads()} threads, torch {torch.__version__}.",
        f"Difference of our pairs from the plain ones: mean {np.mean(apart):.2f} HU, at most {np.max(apart):.1f} HU.",
        f"Peak memory of a process that makes pairs: {memory}.",
    ]


def print_memory(name: str) -> None:
    """Make pairs and print the largest memory meanwhile."""
    scene = make_scene()
    forget_peak()
    (our_pairs if name == OURS else plain_pairs)(scene)
    print(megabytes("VmHWM"))


if __name__ == "__main__":
    main(measure)
