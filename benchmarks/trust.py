"""Whether the metal is found, and whether the expected error ranks pixels by their true error.

`python -m benchmarks.trust [STORE]` takes a store of `acdnet simulate --protocol clinical`, or makes one of phantoms.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import nnls
from scipy.stats import spearmanr

from acdnet.data.build import build
from acdnet.data.pairs import PairSet, open_pairs, some_of
from acdnet.data.recipe import Recipe
from acdnet.data.sources import open_source
from acdnet.evaluate.case import Case
from acdnet.evaluate.methods import first_image
from acdnet.evaluate.size_bins import size_groups
from acdnet.methods.hu_adapter import decompose_hu, in_range, to_hu, to_network
from acdnet.methods.metal import Segmentation, find_metal, overlap
from acdnet.methods.trace_correction import ended
from acdnet.methods.uncertainty import signs
from acdnet.reduction.reducer import make_reducer, reduce_slice
from acdnet.weights.load import load_model

PHANTOMS, PAIRS = 24, 48
SAMPLE, FITTED = 20_000, 8_000
"""Pixels of the body that are ranked, and fitted to, in each pair."""
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


def fit(pairs: PairSet, count: int, model: str) -> Iterator[str]:
    """Fit the expected error to the true one; yield the weights, and how well they tell the size of an error."""
    network = load_model(model)
    told, errors = [], []
    for index in some_of(len(pairs.infos()), count):
        case = Case.read(pairs, index)
        pair = case.pair
        found = decompose_hu(network, pair.corrupted, first_image(network, case), pair.metal)
        X, Y = to_hu(found.image), in_range(pair.corrupted)
        image = ended(network.config.last, X, Y, pair.metal, case.image_geometry)
        some = np.random.default_rng(index).permutation(np.flatnonzero((pair.clean > BODY_HU) & ~pair.metal))[:FITTED]
        both = signs(found, to_network(pair.corrupted), pair.metal)
        told.append(np.stack([np.ones(len(some)), *(sign.ravel()[some] for sign in both)], 1))
        errors.append(np.abs(image - pair.clean).ravel()[some])
    A, error = np.concatenate(told), np.concatenate(errors)
    weight = 1 / (10 + A[:, 1:].sum(1))  # so that the few large errors do not decide alone
    shares, _ = nnls(A * weight[:, None], error * weight)
    yield f"least {shares[0]:.2f} HU, residual x {shares[1]:.2f}, spread x {shares[2]:.2f}"
    expected = A @ shares
    for low, high in itertools.pairwise((0, 5, 10, 20, 40, 80, np.inf)):
        there = (expected >= low) & (expected < high)
        if there.any():
            yield f"expected {low} to {high} HU: {int(there.sum())} pixels, true mean {error[there].mean():.1f} HU"


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
    parser.add_argument("--fit", action="store_true", help="fit the weights of the expected error instead")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pairs = open_pairs(args.store) if args.store else phantoms(Path(folder))
        if args.fit:
            print(*fit(pairs, args.pairs, args.model), sep="\n")
            return
        columns, rows = segmentation(pairs, args.pairs)
        table = Table(*columns, title="Dice coefficient of the metal")
        for row in rows:
            table.add_row(*row)
        Console().print(table)
        ranks = list(rank_correlations(pairs, args.pairs, args.model))
        print(f"rank correlation of expected and true error: mean {np.mean(ranks):.2f}, least {min(ranks):.2f}")


if __name__ == "__main__":
    main()
