"""Classical methods on simulated metal, in both protocols, in all three scores: `python -m benchmarks.methods`.

Without arguments on phantoms; `--data FOLDER --split val` takes clean slices from any source of `acdnet simulate`.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
from rich.progress import track

from acdnet.data.recipe import Recipe, make_slice
from acdnet.data.slices import SliceRef
from acdnet.data.sources import open_source
from acdnet.evaluate.metrics import Scores, score
from acdnet.methods.registry import get_method
from acdnet.physics.simulate import PROTOCOLS
from benchmarks.harness import Table, main

METHODS = ("input", "li", "tracefit", "bhc", "nmar")
SLICES, PAIRS = 12, 2
FLAT, AREAS = ("window_psnr", "window_ssim", "paper_psnr", "paper_ssim"), ("body", "soft", "bone", "ring")
COLUMNS = ("PSNR window", "SSIM window", "PSNR paper", "SSIM paper", "body HU", "soft HU", "bone HU", "ring HU")


def measure(data: str = "phantom", split: str = "", slices: int = SLICES, pairs: int = PAIRS) -> Table:
    """Score all methods; the best of each column is bold."""
    found = [ref for ref in open_source(data, slices).slices if split in ("", ref.split)]
    count = min(slices, len(found))
    chosen = [found[n * len(found) // count] for n in range(count)]
    rows = []
    for protocol in PROTOCOLS:
        averages = compare(chosen, Recipe(protocol, seed=1, pairs=pairs, sinograms=True))
        best = [*np.max(averages, axis=0)[: len(FLAT)], *np.min(averages, axis=0)[len(FLAT) :]]
        for name, values in zip(METHODS, averages, strict=True):
            texts = [f"{v:.3f}" if "SSIM" in c else f"{v:.1f}" for c, v in zip(COLUMNS, values, strict=True)]
            marked = [f"**{t}**" if v == top else t for t, v, top in zip(texts, values, best, strict=True)]
            rows.append([protocol, name, *marked])
    kind = "phantoms" if data == "phantom" else "slices"
    note = f"Means over {count} {kind} with {pairs} implants each; HU columns are RMSE without metal."
    return Table(("protocol", "method", *COLUMNS), rows, [note], texts=2)


def compare(slices: list[SliceRef], recipe: Recipe) -> list[list[float]]:
    """Return the mean scores of every method over all pairs."""
    methods = [get_method(name, "cpu") for name in METHODS]
    scores: list[list[list[float]]] = [[] for _ in methods]
    for ref in track(slices, recipe.protocol, transient=True):
        for pair in make_slice(ref, recipe, (), []).pairs:
            for method, found in zip(methods, scores, strict=True):
                found.append(_flat(score(method(pair.measurement()).image_hu, pair.clean, pair.metal)))
    return [[float(mean) for mean in np.nanmean(found, axis=0)] for found in scores]


def _flat(scores: Scores) -> list[float]:
    values = asdict(scores)
    return [*(values[key] for key in FLAT), *(values["rmse"][area] for area in AREAS)]


if __name__ == "__main__":
    main(measure)
