"""Whether the metal is found, and whether the expected error ranks pixels by their true error.

`python -m benchmarks.trust [STORE]` takes a store of `acdnet simulate --protocol clinical`, or makes one of phantoms.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import spearmanr

from acdnet.data.build import build
from acdnet.data.pairs import PairSet, open_pairs, some_of
from acdnet.data.recipe import Recipe
from acdnet.data.sources import open_source
from acdnet.evaluate.groups import size_groups
from acdnet.reduction.metal import Segmentation, find_metal, overlap
from acdnet.reduction.reducer import make_reducer, reduce_slice

PHANTOMS, PAIRS = 24, 48
SAMPLE = 20_000
"""Pixels of the body that are ranked in each pair."""
BODY_HU = -500.0
KINDS = (("auto", Segmentation()), ("threshold of the paper", Segmentation("threshold")))


def segmentation(pairs: PairSet, count: int) -> tuple[list[str], list[list[str]]]:
    """Return the table of Dice coefficients by metal size, and of false metal in the clean slices."""
    chosen = some_of(len(pairs.infos()), count)
    found: dict[str, list[float]] = {name: [] for name, _ in KINDS}
    false: dict[str, list[int]] = {name: [] for name, _ in KINDS}
    sizes = []
    for index in chosen:
        pair, mm = pairs.read(index), pairs.pixel_mm(index) or 1.0
        sizes.append(int(pair.metal.sum()))
        for name, how in KINDS:
            found[name].append(overlap(find_metal(pair.corrupted, (mm, mm), how), pair.metal))
            false[name].append(int(find_metal(pair.clean, (mm, mm), how).sum()))
    groups = size_groups(sizes)
    columns = ["metal", *(group.title for group in groups), "average", "not found", "false, of clean slices"]
    rows = []
    for name, values in found.items():
        cells = [f"{np.mean([v for v, s in zip(values, sizes, strict=True) if g.holds(s)]):.2f}" for g in groups]
        wrong = sum(pixels > 0 for pixels in false[name])
        lost = sum(value == 0 for value in values)
        rows.append([name, *cells, f"{np.mean(values):.2f}", f"{lost} of {len(values)}", f"{wrong} of {len(values)}"])
    return columns, rows


def rank_correlations(pairs: PairSet, count: int, model: str) -> Iterator[float]:
    """Yield Spearman's rank correlation of expected and true error in the body, pair by pair."""
    reducer = make_reducer("acdnet", model)
    for index in some_of(len(pairs.infos()), count):
        pair, mm = pairs.read(index), pairs.pixel_mm(index) or 1.0
        outcome = reduce_slice(reducer, pair.corrupted, pair.metal, (mm, mm))
        assert outcome.doubt is not None
        body = np.flatnonzero((pair.clean > BODY_HU) & ~pair.metal)
        some = np.random.default_rng(index).permutation(body)[:SAMPLE]
        error = np.abs(pair.corrupted + outcome.change - pair.clean)
        yield float(spearmanr(outcome.doubt.ravel()[some], error.ravel()[some]).statistic)


def phantoms(folder: Path) -> PairSet:
    """Make clinical pairs of phantoms."""
    store = folder / "store"
    list(build(open_source("phantom", PHANTOMS, seed=77), Recipe("clinical", pairs=2), store, 2))
    return open_pairs(store)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path, nargs="?")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--model", default="default")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pairs = open_pairs(args.store) if args.store else phantoms(Path(folder))
        columns, rows = segmentation(pairs, args.pairs)
        table = Table(*columns, title="Dice coefficient of the metal")
        for row in rows:
            table.add_row(*row)
        Console().print(table)
        ranks = list(rank_correlations(pairs, args.pairs, args.model))
        print(f"rank correlation of expected and true error: mean {np.mean(ranks):.2f}, least {min(ranks):.2f}")


if __name__ == "__main__":
    main()
