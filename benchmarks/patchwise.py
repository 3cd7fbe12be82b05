"""Is a network as good on whole images as on patches? `python -m benchmarks.patchwise STORE MODEL ... [--pairs 8]`.

K is a sum over the image. A network that was trained on patches, each with a K of its own, may rely on it; whole images
then come out worse than the same images cut into tiles. RMSE of soft tissue in HU after the start and after the last
stage, on whole images and on tiles, means over pairs of a store of `acdnet simulate`.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from acdnet.data.pairs import PairSet, some_of
from acdnet.evaluate.metrics import regions
from acdnet.model.acdnet import ACDNet
from acdnet.units import HU_PER_UNIT, network_from_hu
from benchmarks.explained import print_tables

TILES = (64, 128, 192)
SIDE = 384
"""All tiles divide the middle of a slice."""


@torch.no_grad()
def errors(model: ACDNet, pairs: PairSet, count: int) -> dict[str, tuple[float, float]]:
    """Return the error after the start and at the end, by how an image was cut."""
    if pairs.size < SIDE:
        raise SystemExit(f"{pairs.folder}: slices of {pairs.size} pixels; {SIDE} are needed to cut tiles from")
    found: dict[str, list[tuple[float, float]]] = {}
    for index in some_of(len(pairs.infos()), count):
        pair = pairs.read(index)
        first = (pairs.size - SIDE) // 2
        inside = slice(first, first + SIDE)
        images = (pair.corrupted, pair.first(model.config.first), pair.clean)
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
    """Print the errors of whole images and of tiles."""
    columns = ("images", "after the start", "at the end")
    print_tables(__doc__, columns, lambda model, pairs, count: errors(model, pairs, count).items())


if __name__ == "__main__":
    main()
