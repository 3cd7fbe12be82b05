"""What finer views of the scanner and of re-projection give, and cost: `python -m benchmarks.views --data SLICES`.

Slabs of `acdnet simulate --slab` are scanned with several numbers of views, everything else alike, and their middle
slices are corrected by LI and trace fit with images projected in several numbers of views. "Fine" is the high-pass
spread of soft tissue 6 to 120 mm from metal: the fine streaks that a method leaves. Without --data, phantoms are used.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_erosion, distance_transform_edt, gaussian_filter

from acdnet.data.recipe import Recipe, random_of
from acdnet.data.slabs import ASSUMED_MM, group_slabs, read_slab
from acdnet.data.slices import SliceRef
from acdnet.data.sources import open_source
from acdnet.errors import InputRefused
from acdnet.methods.trace_fit import trace_fit
from acdnet.physics.acquisition import Acquisition
from acdnet.physics.geometry import FanBeam
from acdnet.physics.implants.solid.draw import draw_piece
from acdnet.physics.implants.solid.scene import find_scene
from acdnet.physics.measurement import Measurement
from acdnet.physics.scanner import Simulation
from acdnet.physics.slab_scanner import SlabScanner
from acdnet.units import Image
from benchmarks.harness import Table, main

SCANNED = (640, 984, 1440, 2304)
PROJECTED = (640, 1280, 2560)
NEAR_MM, FAR_MM = 6.0, 120.0
HIGH_PASS_MM = 2.0
SOFT_HU = (-150.0, 200.0)
EDGE_MM = 3.0
COLUMNS = ("views", "projected", "scan s", "LI s", "fit s", "truth", "input", "LI", "fit", "LI HU", "fit HU")


def measure(data: str = "phantom", split: str = "val", slabs: int = 8, slab: int = 6, size: int = 416) -> Table:
    """Scan and correct the middle slices of some slabs."""
    source = open_source(data, count=slabs, slab=slab)
    known = [ref for ref in source.slices if data == "phantom" or ref.split == split]
    groups = [group for group in group_slabs(known, slab) if len(group) > 1]
    count = min(slabs, len(groups))
    found: dict[tuple[int, int], list[list[float]]] = defaultdict(list)
    for n in range(count):
        for case, row in _slab(groups[n * len(groups) // count], size):
            found[case].append(row)
    means = {case: np.mean(rows, 0) for case, rows in found.items()}
    rows = [
        (str(case[0]), str(case[1]), *(f"{v:.2f}" for v in values[:3]), *(f"{v:.1f}" for v in values[3:]))
        for case, values in means.items()
    ]
    number = len(next(iter(found.values()), []))
    notes = (f"Means over {number} slices. Spread of truth, input, LI and trace fit: HU of the high-pass slice.",)
    return Table(COLUMNS, rows, notes, 0)


def _slab(refs: list[SliceRef], size: int) -> list[tuple[tuple[int, int], list[float]]]:
    """Return the figures of the middle slice for every case; none if no implant fits."""
    recipe = Recipe("clinical", size=size, slab=len(refs))
    _, stack, mm = read_slab(refs, recipe.size)
    thickness = refs[0].step_mm or ASSUMED_MM
    region = refs[0].notes.get("region", "") or refs[0].notes.get("site", "")
    try:
        scene = find_scene(stack, tuple(float(ref.z_mm or 0) for ref in refs), thickness, mm, region)
        piece = draw_piece(scene, random_of(recipe, refs[0], "views"))
    except InputRefused:
        return []
    n = int(np.argmax(piece.masks.sum((1, 2))))
    drawn = Acquisition.draw(random_of(recipe, refs[0], "scanner"))
    found = []
    for views, projected in product(SCANNED, PROJECTED):
        if projected == PROJECTED[0]:
            start = time.perf_counter()
            scanner = SlabScanner(stack[n], mm, thickness, replace(drawn, views=views), projected)
            pair = scanner.with_layers(piece.shares[n], piece.masks[n], piece.metal, random_of(recipe, refs[n], "pair"))
            seconds = time.perf_counter() - start
        found.append(((views, projected), [seconds, *_corrected(pair, mm, projected)]))
    return found


def _corrected(pair: Simulation, mm: float, views: int) -> list[float]:
    """Return the seconds of LI and trace fit, the spreads of truth, input, LI and fit, and the errors of both."""
    geometry = FanBeam.around(len(pair.clean), mm / 10, views=views)
    times, images = [], []
    for method in (lambda one: one.reconstruct(one.interpolated()), trace_fit):
        start = time.perf_counter()
        images.append(method(Measurement.of_square(pair.corrupted, pair.metal, geometry)))
        times.append(time.perf_counter() - start)
    where = soft_tissue(pair.clean, pair.metal, mm)
    spreads = [fine_spread(image, where, mm) for image in (pair.clean, pair.corrupted, *images)]
    errors = [float(np.sqrt(np.mean((image - pair.clean)[where] ** 2))) for image in images]
    return [*times, *spreads, *errors]


def soft_tissue(clean: Image, metal: NDArray[np.bool_], mm: float) -> NDArray[np.bool_]:
    """Return the soft tissue 6 to 120 mm from metal, away from its edges."""
    soft = (clean > SOFT_HU[0]) & (clean < SOFT_HU[1])
    away = distance_transform_edt(~metal) * mm if metal.any() else np.zeros(clean.shape)
    return np.asarray(binary_erosion(soft, iterations=max(1, round(EDGE_MM / mm))) & (away > NEAR_MM) & (away < FAR_MM))


def fine_spread(image: Image, where: NDArray[np.bool_], mm: float) -> float:
    """Return the standard deviation of some pixels from a smooth image of these pixels alone; HU."""
    if not where.any():
        return float("nan")
    weight = gaussian_filter(where.astype(np.float32), HIGH_PASS_MM / mm)
    smooth = gaussian_filter(np.where(where, image, 0), HIGH_PASS_MM / mm) / np.maximum(weight, 1e-6)
    return float((image - smooth)[where].std())


if __name__ == "__main__":
    main(measure)
