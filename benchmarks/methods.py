"""Classical methods on simulated metal, in both protocols, in all three scores: `python -m benchmarks.methods`.

Without arguments on phantoms; `--data FOLDER --split val` takes clean slices from any source of `acdnet simulate`.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from acdnet.data.recipe import Recipe, make_slice
from acdnet.data.slices import SliceRef
from acdnet.data.sources import open_source
from acdnet.evaluate.metrics import Scores, score
from acdnet.methods.method import method
from acdnet.physics.simulate import PROTOCOLS

METHODS = ("input", "li", "tracefit", "bhc", "nmar")
SLICES, PAIRS = 12, 2
COLUMNS = ("PSNR window", "SSIM window", "PSNR paper", "SSIM paper", "body HU", "soft HU", "bone HU", "ring HU")


def main() -> None:
    """Print a table for each protocol."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="phantom", help="source of clean slices")
    parser.add_argument("--split", default="", help="only slices of this split")
    parser.add_argument("--slices", type=int, default=SLICES, help="slices that are taken")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="implants per slice")
    parser.add_argument("--exclude", default="", help="patients to leave out, as `acdnet simulate` takes them")
    given = parser.parse_args()
    exclude = [name for name in given.exclude.split(",") if name]
    source = open_source(given.data, given.slices, exclude=exclude).slices
    found = [ref for ref in source if ref.split == given.split or not given.split]
    count = min(given.slices, len(found))
    chosen = [found[i * len(found) // count] for i in range(count)]
    console = Console(width=150)
    for protocol in PROTOCOLS:
        rows = compare(chosen, recipe(protocol, given.pairs))
        title = f"{protocol}: {len(chosen)} slices of {Path(given.data).name} {given.split} x {given.pairs} implants"
        console.print(as_table(title, rows))


def recipe(protocol: str, pairs: int) -> Recipe:
    """Return what is simulated."""
    return Recipe(protocol, seed=1, pairs=pairs, sinograms=True)


def compare(slices: list[SliceRef], recipe: Recipe) -> dict[str, list[Scores]]:
    """Score every method on every pair."""
    rows: dict[str, list[Scores]] = defaultdict(list)
    for ref in track(slices, recipe.protocol, transient=True):
        for pair in make_slice(ref, recipe, (), []).pairs:
            for name in METHODS:
                rows[name].append(score(method(name)(pair.measured()), pair.clean, pair.metal))
    return rows


def means(scores: list[Scores]) -> list[float]:
    """Average the columns of the table."""
    rows = [asdict(one) for one in scores]
    flat = ("window_psnr", "window_ssim", "paper_psnr", "paper_ssim")
    values = [np.mean([row[key] for row in rows]) for key in flat]
    values += [np.nanmean([row["rmse"][area] for row in rows]) for area in ("body", "soft", "bone", "ring")]
    return [float(value) for value in values]


def cells(rows: dict[str, list[Scores]], before: str, after: str) -> list[list[str]]:
    """Return the rows of the table, the best of each column marked."""
    averages = {name: means(scores) for name, scores in rows.items()}
    best = [max(column) if n < 4 else min(column) for n, column in enumerate(zip(*averages.values(), strict=True))]
    table = []
    for name, values in averages.items():
        line = [name]
        for column, value, top in zip(COLUMNS, values, best, strict=True):
            text = f"{value:.3f}" if "SSIM" in column else f"{value:.1f}"
            line.append(f"{before}{text}{after}" if value == top else text)
        table.append(line)
    return table


def as_table(title: str, rows: dict[str, list[Scores]]) -> Table:
    """Lay the means out for a terminal."""
    table = Table("method", *COLUMNS, title=title, caption="means; HU columns are RMSE without metal")
    for line in cells(rows, "[bold]", "[/]"):
        table.add_row(*line)
    return table


if __name__ == "__main__":
    main()
