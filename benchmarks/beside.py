"""What giving back to rays beside the metal does: `python -m benchmarks.beside [STORE] [--model NAME] [--pairs 24]`.

One network, on pairs of the clinical protocol (phantoms, or a store of `acdnet simulate`), with its image taken as it
is and with what is given back (`acdnet.physics.beside`). The first image is shown for comparison.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from acdnet.config import LASTS
from acdnet.data.pairs import PairSet, open_pairs, some_of
from acdnet.evaluate.cases import Case
from acdnet.evaluate.contestants import Contestant, first_image
from acdnet.evaluate.lesions import lesion_retention
from acdnet.evaluate.metrics import hu_rmse, regions, window_psnr
from acdnet.evaluate.untouched import needless
from acdnet.model.border import decompose_hu
from acdnet.model.inference import InferenceACDNet
from acdnet.model.last import last_image
from acdnet.weights.load import load_model
from benchmarks.trust import PAIRS, phantoms

COLUMNS = (
    "image",
    "PSNR",
    "soft tissue",
    "soft tissue, needlessly",
    "bone, needlessly",
    "lesions near metal",
    "far from it",
)
NAMES = {"none": "network", "beside": "network, given back"}


def ways(model: InferenceACDNet) -> list[Contestant]:
    """Return the first image, and the network with each of its ends."""

    def ended(last: str) -> Callable[[Case], NDArray[np.float32]]:
        def run(case: Case) -> NDArray[np.float32]:
            pair = case.pair
            found = decompose_hu(model, pair.corrupted, first_image(model, case), pair.metal)
            config = replace(model.config, last=last)
            return last_image(found, config, pair.corrupted, pair.metal, case.geometry)

        return run

    first = Contestant(model.config.first, 0, lambda case: first_image(model, case))
    return [first, *(Contestant(NAMES[last], 0, ended(last)) for last in LASTS)]


def measure(pairs: PairSet, count: int, model: str) -> list[tuple[str, ...]]:
    """Score each of them; return the rows of the table."""
    methods = ways(load_model(model))
    scores: dict[str, list[tuple[float, ...]]] = {one.name: [] for one in methods}
    kept: dict[tuple[str, str], list[float]] = {}
    for index in some_of(len(pairs.infos()), count):
        case = Case.read(pairs, index)
        pair = case.pair
        for one in methods:
            image = one.run(case)
            rmse = hu_rmse(image, pair.clean, regions(pair.clean, pair.metal)["soft"])
            scores[one.name].append((window_psnr(image, pair.clean, pair.metal), rmse, *needless(image, case).values()))
        for found in lesion_retention(case, methods, np.random.default_rng(index)):
            kept.setdefault((found.method, found.place), []).append(found.kept)
    rows = []
    for name, values in scores.items():
        psnr, rmse, soft, bone = np.nanmean(values, axis=0)
        lesions = (f"{np.mean(kept[name, place]):.0%}" for place in ("near", "far"))
        rows.append((name, f"{psnr:.2f} dB", f"{rmse:.1f} HU", f"{soft:.1f} HU", f"{bone:.1f} HU", *lesions))
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path, nargs="?")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--model", default="default")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pairs = open_pairs(args.store) if args.store else phantoms(Path(folder))
        table = Table(*COLUMNS, title=f"{args.model}, {args.pairs} pairs")
        for row in measure(pairs, args.pairs, args.model):
            table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
