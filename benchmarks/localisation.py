"""What is taken for metal, and what of the metal is found: `python -m benchmarks.localisation SLICES [STORE ...]`.

SLICES are clean slices with an `index.csv`, as for `acdnet simulate`; every slice with a bright pixel is shown as it is
and as an imitation of a sharp kernel, of dense enamel and bone, and of contrast medium. STORES have metal
(`acdnet simulate --slab`). The localiser is compared with the rule that it replaced and with the paper's threshold.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acdnet.data import lookalikes
from acdnet.data.pairs import PairSet, open_pairs
from acdnet.data.slabs import group_slabs, read_slab
from acdnet.data.slices import SliceRef
from acdnet.data.sources import open_source
from acdnet.evaluate.localisation import LEAST_PIXELS, Localisation, total
from acdnet.evaluate.metrics import hu_rmse, regions
from acdnet.evaluate.size_bins import size_groups
from acdnet.methods.learned.localiser import Localiser
from acdnet.methods.localise import find_objects, masks_of
from acdnet.methods.metal import Segmentation, find_metal
from acdnet.methods.registry import get_method
from acdnet.physics.measurement import Measurement
from acdnet.units import Image, Mask
from acdnet.weights.load import read_model
from acdnet.weights.shipped import find_model
from benchmarks.harness import ROOT, Table, put

SITES = (
    "skull",
    "jaw",
    "neck",
    "head",
    "shoulder",
    "hand",
    "hip",
    "knee",
    "thigh",
    "leg",
    "pelvis",
    "lumbar",
    "thorax",
)
SIZE = 416
PAGE = ROOT / "docs/metal.md"
BRIGHT_HU = 1000.0
"""Slices whose imitations stay darker are not shown to anything."""
Finder = Callable[[Sequence[Image | None], float], Mask]


def finders(model: str) -> dict[str, Finder]:
    """Return what is compared: slices below, here and above, and their pixel size, give the metal here."""
    network, _ = read_model(find_model(model))
    assert isinstance(network, Localiser)

    def rule(slices: Sequence[Image | None], pixel_mm: float) -> Mask:
        return find(slices, pixel_mm, lambda there, mm: find_metal(there, mm, Segmentation("grown")))

    def threshold(slices: Sequence[Image | None], pixel_mm: float) -> Mask:
        return find(slices, pixel_mm, lambda there, mm: find_metal(there, mm, Segmentation("threshold")))

    def located(slices: Sequence[Image | None], pixel_mm: float) -> Mask:
        return find(slices, pixel_mm, locate)

    def locate(there: list[Image], mm: tuple[float, float]) -> Sequence[Mask]:
        return masks_of(find_objects(there, mm, network), [hu.shape for hu in there])

    def find(
        slices: Sequence[Image | None],
        mm: float,
        how: Callable[[list[Image], tuple[float, float]], Sequence[Mask] | Mask],
    ) -> Mask:
        there = [hu for hu in slices if hu is not None]
        return np.asarray(how(there, (mm, mm))[int(slices[0] is not None)])

    return {
        "threshold of the paper": threshold,
        "rule": rule,
        "localiser": located,
    }


def imitations(slices: Sequence[Image], pixel_mm: float, seed: int) -> Iterator[tuple[str, list[Image]]]:
    """Yield neighbouring slices as they are, and their imitations of metal; the last neighbour is painted, too."""
    yield "as they are", list(slices)

    def each(change: Callable[[Image, np.random.Generator], Image]) -> list[Image]:
        limit = lookalikes.ENAMEL_HU[1]
        return [lookalikes.compress(change(hu, np.random.default_rng(seed)), limit) for hu in slices]

    yield "sharp kernel", each(lambda hu, rng: lookalikes.sharpen(hu, pixel_mm, rng))
    dense = each(lookalikes.densify)
    yield "dense enamel and bone", dense
    slices = dense
    both = each(lambda hu, rng: lookalikes.sharpen(hu, pixel_mm, rng))
    yield "dense and sharp, 12 bits", [lookalikes.ceiling(hu) for hu in both]


def with_iodine(slices: Sequence[Image], number: int, pixel_mm: float, seed: int) -> list[Image]:
    """Paint contrast medium through neighbouring slices."""
    added = lookalikes.contrast(slices[number], pixel_mm, np.random.default_rng(seed)) - slices[number]
    return [hu + added for hu in slices]


def triples(refs: Sequence[SliceRef], every: int) -> Iterator[tuple[SliceRef, list[Image], int, float]]:
    """Yield every n-th slice with its neighbours: the slices, the number of the middle one, and the pixel size."""
    for run in group_slabs(refs, len(refs)):
        for n in range(0, len(run), every):
            around = run[max(0, n - 1) : n + 2]
            _, stack, pixel_mm = read_slab(around, SIZE)
            yield run[n], list(stack), n - max(0, n - 1), pixel_mm


def site_of(region: str) -> str:
    """Return the site of a region of the index."""
    return next((site for site in SITES if site in region), "abdomen")


def false_metal(refs: Sequence[SliceRef], model: str, every: int = 1) -> Table:
    """Return the share of clean slices in which anything is taken for metal, by site and imitation."""
    counts: dict[tuple[str, str, str], Localisation] = {}
    known = finders(model)
    shown: list[str] = []
    for number, (ref, stack, middle, pixel_mm) in enumerate(triples(refs, every)):
        site = site_of(ref.notes.get("region", ""))
        made = [*imitations(stack, pixel_mm, number), ("iodine", with_iodine(stack, middle, pixel_mm, number))]
        for what, slices in made:
            seen = [slices[n] if 0 <= n < len(slices) else None for n in (middle - 1, middle, middle + 1)]
            bright = slices[middle].max() > BRIGHT_HU
            for name, find in known.items():
                found: NDArray[np.bool_] = find(seen, pixel_mm) if bright else np.zeros((1, 1), bool)
                counts.setdefault((site, what, name), Localisation()).add(found, np.zeros_like(found))
        shown = [what for what, _ in made]
    rows = []
    for site in [*dict.fromkeys(site for site, _, _ in counts), ""]:
        for name in known:
            cells = []
            for what in shown:
                one = total(part for (s, w, m), part in counts.items() if w == what and m == name and site in ("", s))
                cells.append(f"{one.false} of {one.clean}")
            rows.append([site or "all", name, *cells])
    return Table(["site", "found by", *shown], rows, texts=2)


def metal_found(sets: Sequence[PairSet], model: str, every: int = 1) -> Table:
    """Return Dice by size of the metal, and the share of objects that are found."""
    known = finders(model)
    scores = {name: Localisation() for name in known}
    for pairs in sets:
        for n in range(0, len(pairs.infos()), every):
            pair, mm = pairs.read(n), pairs.pixel_mm(n) or 1.0
            if not pair.metal.any():
                continue
            below, above = (None if m is None else pairs.read(m).corrupted for m in pairs.neighbours(n))
            for name, find in known.items():
                scores[name].add(find([below, pair.corrupted, above], mm), pair.metal)
    groups = size_groups(scores["rule"].sizes)
    rows = []
    for name, one in scores.items():
        parts = [[d for d, size in zip(one.dice, one.sizes, strict=True) if group.holds(size)] for group in groups]
        found = f"{100 * (1 - one.missed / one.objects):.1f} % of {one.objects}"
        rows.append([name, *(f"{np.mean(part):.3f}" for part in (*parts, one.dice)), found])
    return Table(["found by", *(group.title for group in groups), "all", "objects found"], rows)


def reduced_by_masks(sets: Sequence[PairSet], model: str, methods: Sequence[str], every: int = 1) -> Table:
    """Return the error of soft tissue of methods that are given the true metal or the metal that was found."""
    known: dict[str, Finder | None] = {"true mask": None, **finders(model)}
    reduce = {name: get_method(name, "cpu") for name in methods}
    errors: dict[tuple[str, str], list[float]] = {}
    for pairs in sets:
        for n in range(0, len(pairs.infos()), every):
            pair, mm = pairs.read(n), pairs.pixel_mm(n) or 1.0
            if pair.metal.sum() < LEAST_PIXELS:
                continue
            below, above = (None if m is None else pairs.read(m).corrupted for m in pairs.neighbours(n))
            masks = {
                name: pair.metal if find is None else find([below, pair.corrupted, above], mm)
                for name, find in known.items()
            }
            anything = np.logical_or.reduce(list(masks.values()))
            soft = regions(pair.clean, anything)["soft"]
            for name, mask in masks.items():
                for method, run in reduce.items():
                    measured = Measurement(pair.corrupted, mask, (mm, mm))
                    image = run(measured).image_hu if mask.any() else pair.corrupted
                    errors.setdefault((name, method), []).append(hu_rmse(image, pair.clean, soft))
    rows = [[name, *(f"{np.nanmean(errors[name, method]):.1f} HU" for method in methods)] for name in known]
    count = len(next(iter(errors.values())))
    return Table(["mask", *(get_method(name, "cpu").label for name in methods)], rows, [f"{count} slices with metal."])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("slices", type=Path)
    parser.add_argument("stores", type=Path, nargs="*")
    parser.add_argument("--split", default="val", help="splits of the clean slices, comma-separated")
    parser.add_argument("--patients", default="", help="only these patients of any split, comma-separated")
    parser.add_argument("--model", default="localiser")
    parser.add_argument("--every", type=int, default=1, help="use every n-th slice")
    parser.add_argument("--methods", default="li,acdnet", help="methods that are given the masks")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/metal.md")
    given = parser.parse_args()
    wanted = set(given.patients.split(",")) if given.patients else None
    refs = [
        ref
        for ref in open_source(str(given.slices)).slices
        if (ref.patient in wanted if wanted else ref.split in given.split.split(","))
    ]
    tables = {"false metal": false_metal(refs, given.model, given.every)}
    if given.stores:
        sets = [open_pairs(store) for store in given.stores]
        tables["found metal"] = metal_found(sets, given.model, given.every)
        tables["reduced by masks"] = reduced_by_masks(sets, given.model, given.methods.split(","), given.every)
    for name, table in tables.items():
        table.print()
        if given.write:
            put(PAGE, f"{name} table", table.markdown())


if __name__ == "__main__":
    main()
