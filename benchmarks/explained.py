"""How much of the artifact A explains: `python -m benchmarks.explained STORE MODEL ... [--pairs 12]`.

In soft tissue, bright (over +20 HU) and dark (under -20 HU) artifacts apart: how large they are, and what is left of
them once A is taken away, at the end of the start and of every stage; and the error of the image there. RMSE in HU,
means over pairs of a store of `acdnet simulate`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from acdnet.data.pairs import PairSet, open_pairs, some_of
from acdnet.data.store import Pair
from acdnet.evaluate.metrics import regions
from acdnet.model.acdnet import ACDNet
from acdnet.units import HU_PER_UNIT, network_from_hu
from acdnet.weights.load import read_acdnet
from acdnet.weights.shipped import find_model

Rows = Callable[[ACDNet, PairSet, int], Iterable[tuple[str, Iterable[float]]]]
"""Makes the rows of a table, a title and numbers in HU, of a model, pairs and how many of them."""

NOISE = 1.0
"""Differences below one network unit are no artifact."""


def explained(model: ACDNet, pairs: PairSet, count: int) -> tuple[list[str], NDArray[np.float64]]:
    """Return names and rows: truth, start and stages; bright, dark and image."""
    found = [_of_pair(model, pairs.read(index)) for index in some_of(len(pairs.infos()), count)]
    names = ["without a model", "start", *(f"stage {t + 1}" for t in range(model.config.T))]
    return names, np.nanmean(found, axis=0)


@torch.no_grad()
def _of_pair(model: ACDNet, pair: Pair) -> list[list[float]]:
    given = (pair.corrupted, pair.first(model.config.first), pair.clean)
    Y, X_li, X = (_batch(network_from_hu(image)) for image in given)
    result = model(Y, X_li, _batch(~pair.metal))
    soft = torch.from_numpy(regions(pair.clean, pair.metal)["soft"])
    true = Y - X
    bright, dark = (soft & (sign * true[0, 0] > NOISE) for sign in (1, -1))
    artifacts = [torch.zeros_like(Y), result.start_artifacts[-1], *result.artifacts]
    images = [Y, result.start_images[-1], *result.images[1:]]
    return [
        [_rms((true - A)[0, 0][bright]), _rms((true - A)[0, 0][dark]), _rms((image - X)[0, 0][soft])]
        for A, image in zip(artifacts, images, strict=True)
    ]


def _batch(image: NDArray[np.generic]) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(image)).float()[None, None]


def _rms(values: torch.Tensor) -> float:
    return float(values.square().mean().sqrt()) * HU_PER_UNIT if len(values) else float("nan")


def print_tables(about: str | None, columns: tuple[str, ...], rows: Rows) -> None:
    """Ask for a store and models on the command line; print a table for each model."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("store", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--pairs", type=int, default=12)
    given = parser.parse_args()
    for name in given.models:
        model, _ = read_acdnet(find_model(name))
        table = Table(*columns, title=name)
        for title, values in rows(model.eval(), open_pairs(given.store), given.pairs):
            table.add_row(title, *(f"{value:.1f} HU" for value in values))
        Console().print(table)


def main() -> None:
    """Print what is left of the artifact, stage by stage."""
    columns = ("after", "bright artifact left", "dark artifact left", "error of the image")
    print_tables(__doc__, columns, lambda model, pairs, count: zip(*explained(model, pairs, count), strict=True))


if __name__ == "__main__":
    main()
