"""Is a network as good on whole images as on patches? `python -m benchmarks.patchwise STORE MODEL ... [--pairs 8]`.

K is a sum over the image. A network that was trained on patches, each with a K of its own, may rely on it; whole images
then come out worse than the same images cut into tiles. RMSE of soft tissue in HU after the start and after the last
stage, on whole images and on tiles, means over pairs of a store of `acdnet simulate`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from acdnet.data.pairs import PairSet, open_pairs, some_of
from acdnet.evaluate.metrics import regions
from acdnet.model.acdnet import ACDNet
from acdnet.units import HU_PER_UNIT, network_from_hu
from acdnet.weights.load import read_acdnet
from acdnet.weights.shipped import find_model

TILES = (64, 128, 192)
SIDE = 384
"""All tiles divide the middle of a slice."""


@torch.no_grad()
def errors(model: ACDNet, pairs: PairSet, count: int) -> dict[str, tuple[float, float]]:
    """Return the error after the start and at the end, by how an image was cut."""
    found: dict[str, list[tuple[float, float]]] = {}
    for index in some_of(len(pairs.infos()), count):
        pair = pairs.read(index)
        first = (pairs.size - SIDE) // 2
        inside = slice(first, first + SIDE)
        images = (pair.corrupted, pair.li, pair.clean)
        Y, X_li, X = (torch.from_numpy(network_from_hu(image[inside, inside])).float() for image in images)
        I = torch.from_numpy(~pair.metal[inside, inside])
        soft = torch.from_numpy(regions(pair.clean, pair.metal)["soft"][inside, inside])
        for side in (SIDE, *TILES):
            result = model(*(tiles(image, side) for image in (Y, X_li, I)))
            both = (_rms(whole(image, side) - X, soft) for image in (result.start_images[-1], result.image))
            found.setdefault("whole" if side == SIDE else f"tiles of {side}", []).append((next(both), next(both)))
    return {name: tuple(np.nanmean(values, axis=0)) for name, values in found.items()}


def tiles(image: Tensor, side: int) -> Tensor:
    """Cut an image into a batch of squares."""
    return image.unfold(0, side, side).unfold(1, side, side).reshape(-1, 1, side, side)


def whole(cut: Tensor, side: int) -> Tensor:
    """Put squares together again."""
    many = SIDE // side
    return cut.view(many, many, side, side).permute(0, 2, 1, 3).reshape(SIDE, SIDE)


def _rms(difference: Tensor, where: Tensor) -> float:
    return float(difference[where].square().mean().sqrt()) * HU_PER_UNIT


def main() -> None:
    """Print a table for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--pairs", type=int, default=8)
    given = parser.parse_args()
    for name in given.models:
        model, _ = read_acdnet(find_model(name))
        table = Table("images", "after the start", "at the end", title=name)
        for cut, (start, end) in errors(model.eval(), open_pairs(given.store), given.pairs).items():
            table.add_row(cut, f"{start:.1f} HU", f"{end:.1f} HU")
        Console().print(table)


if __name__ == "__main__":
    main()
