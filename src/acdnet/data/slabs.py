"""Slabs: neighbouring slices of a patient with one piece of metal through all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft2, next_fast_len, rfft2

from acdnet.data.recipe import MadeSlice, Recipe, random_of
from acdnet.data.slices import SliceRef, squared
from acdnet.errors import ConfigError, InputRefused
from acdnet.io.slices import Slice
from acdnet.methods.metal import find_metal
from acdnet.methods.trace_fit import trace_fit
from acdnet.physics.acquisition import Acquisition
from acdnet.physics.implants.draw import Implant
from acdnet.physics.implants.solid.draw import Piece, draw_piece
from acdnet.physics.implants.solid.scene import Scene, find_scene
from acdnet.physics.simulate import checked_slice
from acdnet.physics.slab_scanner import SlabScanner, without_metal
from acdnet.units import AIR_HU, Image

EVEN = 0.02
"""Heights of neighbours may differ from their distance by this share of it."""
LEAST_MM = 0.01
"""Differences of heights below this are rounding."""
ASSUMED_MM = 3.0
"""Slice thickness if the source does not state it."""
REACH = 16
"""Pixels by which cropped neighbours may be displaced, beyond the difference of their sizes."""
SHOWN_HU = (-200.0, 600.0)
"""Values that are compared to align neighbours."""
LEAST_OVERLAP = 0.7


def group_slabs(slices: Sequence[SliceRef], count: int) -> list[list[SliceRef]]:
    """Group neighbours into slabs of at most `count` slices of nearly equal number; others stay alone."""
    stacks: dict[tuple[str, ...], list[SliceRef]] = {}
    for n, ref in enumerate(slices):
        alone = () if ref.stack and ref.z_mm is not None else (str(n),)
        stacks.setdefault((ref.patient, ref.split, ref.stack, *alone), []).append(ref)
    found = []
    for stack in stacks.values():
        for run in _runs(sorted(stack, key=lambda ref: ref.z_mm or 0.0)):
            parts = -(-len(run) // count)
            edges = [round(n * len(run) / parts) for n in range(parts + 1)]
            found += [run[first:last] for first, last in pairwise(edges)]
    return found


def _runs(stack: list[SliceRef]) -> list[list[SliceRef]]:
    """Split slices in order of height where their distance changes."""
    runs = [[stack[0]]]
    step = stack[0].step_mm
    for below, above in pairwise(stack):
        gap = (above.z_mm or 0.0) - (below.z_mm or 0.0)
        wanted = above.step_mm or (step if len(runs[-1]) > 1 else gap)
        if gap > 0 and abs(gap - wanted) <= max(EVEN * wanted, LEAST_MM):
            runs[-1].append(above)
        else:
            runs.append([above])
        step = gap
    return runs


def read_slab(refs: Sequence[SliceRef], size: int) -> tuple[list[Slice], NDArray[np.float32], float]:
    """Read neighbours; return them, the aligned stack of squares (n x size x size), and their pixel size in mm."""
    raws = [ref.read() for ref in refs]
    spacings = {raw.spacing_mm for raw in raws}
    if len(spacings) > 1:
        raise InputRefused(f"neighbours have different pixel sizes: {sorted(spacings)}")
    for raw in raws:
        squared(raw, size)  # refuses what a single slice must not be
    images = [raw.hu for raw in raws]
    whole = len(refs) == 1 or not any(ref.cropped for ref in refs)
    stack = _stack(images, [(0, 0)] * len(images) if whole else shifts(images))
    squares = [squared(replace(raws[0], hu=image), size) for image in stack]
    return raws, np.stack([checked_slice(image) for image, _ in squares]), squares[0][1]


def _stack(images: Sequence[Image], corners: Sequence[tuple[int, int]]) -> NDArray[np.float32]:
    """Put images at their corners (row, column) into one canvas of air."""
    low = np.min(corners, 0)
    high = np.max([np.add(corner, image.shape) for corner, image in zip(corners, images, strict=True)], 0)
    made = np.full((len(images), *(high - low)), AIR_HU, np.float32)
    for canvas, image, corner in zip(made, images, corners, strict=True):
        row, column = np.subtract(corner, low)
        canvas[row : row + image.shape[0], column : column + image.shape[1]] = image
    return made


def shifts(images: Sequence[Image]) -> list[tuple[int, int]]:
    """Return the corner (row, column) of each image, so that neighbours lie on each other."""
    corners = [(0, 0)]
    for below, above in pairwise(images):
        row, column = _shift(below, above)
        corners.append((corners[-1][0] + row, corners[-1][1] + column))
    return corners


def _shift(below: Image, above: Image) -> tuple[int, int]:
    """Return the corner of `above` in `below` with the smallest mean square difference where both are known."""
    reach = [abs(a - b) + REACH for a, b in zip(below.shape, above.shape, strict=True)]
    shape = [next_fast_len(a + b, real=True) for a, b in zip(below.shape, above.shape, strict=True)]
    spectra = []
    for image in (below, above):
        values = np.clip(image, *SHOWN_HU) / 100
        spectra.append([rfft2(part.astype(np.float32), shape) for part in (np.ones_like(values), values, values**2)])
    (m, a, aa), (n, b, bb) = spectra
    overlap = irfft2(m * n.conj(), shape)
    error = irfft2(aa * n.conj() - 2 * a * b.conj() + m * bb.conj(), shape)
    least = LEAST_OVERLAP * min(below.size, above.size)
    mean = np.where(overlap > least, error / np.maximum(overlap, 1), np.inf)
    steps = [np.fft.fftfreq(length, 1 / length) for length in shape]
    near = (np.abs(steps[0])[:, None] <= reach[0]) & (np.abs(steps[1])[None] <= reach[1])
    row, column = np.unravel_index(int(np.argmin(np.where(near, mean, np.inf))), mean.shape)
    return int(steps[0][row]), int(steps[1][column])


def make_slab(refs: Sequence[SliceRef], recipe: Recipe) -> list[MadeSlice]:
    """Simulate the slices of a slab; random numbers depend on the seed, the names of the slices and the pair."""
    first, middle = refs[0], refs[len(refs) // 2]
    try:
        raws, stack, pixel_mm = read_slab(refs, recipe.size)
        heights = tuple(0.0 if ref.z_mm is None else ref.z_mm for ref in refs)
        thickness = middle.step_mm or (heights[1] - heights[0] if len(refs) > 1 else ASSUMED_MM)
        region = middle.notes.get("region", "") or middle.notes.get("site", "")
        scene = find_scene(stack, heights, thickness, pixel_mm, region)
        acquisition = Acquisition.draw(random_of(recipe, first, "scanner"))
        pieces = [
            draw_piece(scene, random_of(recipe, first, f"implant {k}"), recipe.kinds) for k in range(recipe.pairs)
        ]
        return [
            _make_slice(ref, raw, scene, n, pieces, acquisition, recipe)
            for n, (ref, raw) in enumerate(zip(refs, raws, strict=True))
        ]
    except (InputRefused, ConfigError) as error:
        place = f" ({first.place})" if first.place and first.place not in str(error) else ""
        raise InputRefused(f"slab {first.name}{place}: {error}") from error


def _make_slice(
    ref: SliceRef, raw: Slice, scene: Scene, n: int, pieces: Sequence[Piece], acquisition: Acquisition, recipe: Recipe
) -> MadeSlice:
    """Scan slice n of a slab with each piece of metal."""
    made = MadeSlice(raw, scene.pixel_mm, [], [], None)
    hu, mm = scene.hu[n], scene.pixel_mm
    scanner = None
    for k, piece in enumerate(pieces):
        mask, shares, metal = piece.masks[n], piece.shares[n], recipe.material or piece.metal
        if shares.any():
            scanner = scanner or SlabScanner(hu, mm, scene.thickness, acquisition, recipe.views)
            pair = scanner.with_layers(shares, mask, metal, random_of(recipe, ref, f"pair {k}"))
        else:
            pair = without_metal(hu, mm, metal, acquisition, recipe.views)
        if recipe.found and mask.any() and random_of(recipe, ref, f"found {k}").random() < recipe.found:
            seen = find_metal(pair.corrupted, (mm, mm))
            pair = pair.with_found_metal(seen) if seen.any() else pair
        if recipe.tracefit:
            made.fitted.append(trace_fit(pair.measurement()) if pair.metal.any() else pair.corrupted)
        made.pairs.append(pair.without_sinograms())
        made.implants.append(Implant(mask, piece.kind, metal))
    return made
