"""What giving back to rays beside the metal does: `python -m benchmarks.beside [STORE] [--model NAME] [--pairs 24]`.

One network, on pairs of the clinical protocol (phantoms, or a store of `acdnet simulate`), with its image taken as it
is and with what is given back (`acdnet.physics.beside`). The first image is shown for comparison. "Worst" is the pair
whose soft tissue suffers most from giving back.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict, deque
from collections.abc import Callable
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
from acdnet.model.border import decompose_hu, in_range, to_hu
from acdnet.model.inference import InferenceACDNet
from acdnet.physics.beside import ended
from acdnet.weights.load import load_model
from benchmarks.trust import phantoms

PAIRS = 24
COLUMNS = (
    *("image", "PSNR", "soft tissue", "soft tissue, needlessly", "bone, needlessly"),
    *("lesions near metal", "far from it", "pairs made better", "worst"),
)
Image = NDArray[np.float32]
NAMES = {"none": "network", "beside": "network, given back"}


def ways(model: InferenceACDNet) -> list[Contestant]:
    """Return the first image, and the network with each of its ends; it runs once for all of them."""
    last_cases: deque[tuple[Case, Image, Image]] = deque(maxlen=2)  # with a lesion and without

    def images(case: Case) -> tuple[Image, Image]:
        for known, first, X in last_cases:
            if known is case:
                return first, X
        first, pair = first_image(model, case), case.pair
        X = to_hu(decompose_hu(model, pair.corrupted, first, pair.metal).image)
        last_cases.append((case, first, X))
        return first, X

    def with_end(last: str) -> Callable[[Case], Image]:
        def run(case: Case) -> Image:
            pair = case.pair
            return ended(last, images(case)[1], in_range(pair.corrupted), pair.metal, case.image_geometry)

        return run

    first = Contestant(model.config.first, 0, lambda case: images(case)[0])
    return [first, *(Contestant(NAMES[last], 0, with_end(last)) for last in LASTS)]


def measure(pairs: PairSet, count: int, model: str) -> list[tuple[str, ...]]:
    """Score each of them; return the rows of the table."""
    methods = ways(load_model(model))
    scores: dict[str, list[tuple[float, ...]]] = {one.name: [] for one in methods}
    kept: dict[tuple[str, str], list[float]] = defaultdict(list)
    for index in some_of(len(pairs.infos()), count):
        case = Case.read(pairs, index)
        pair = case.pair
        soft = regions(pair.clean, pair.metal)["soft"]
        for one in methods:
            image = one.run(case)
            psnr, rmse = window_psnr(image, pair.clean, pair.metal), hu_rmse(image, pair.clean, soft)
            scores[one.name].append((psnr, rmse, *(change.hu for change in needless(image, case).values())))
        for found in lesion_retention(case, methods, np.random.default_rng(index)):
            kept[found.method, found.place].append(found.kept)
    before, after = (np.array(scores[NAMES[last]])[:, 1] for last in LASTS)
    worst = int(np.argmax(after - before))
    rows = []
    for name, values in scores.items():
        psnr, rmse, soft_change, bone_change = np.nanmean(values, axis=0)
        lesions = (f"{np.mean(kept[name, place]):.0%}" if kept[name, place] else "-" for place in ("near", "far"))
        harm = ("", "")
        if name == NAMES["beside"]:
            better = f"{int((after < before).sum())} of {len(after)}"
            harm = (better, f"{before[worst]:.1f} to {after[worst]:.1f} HU")
        changes = (f"{soft_change:.1f} HU", f"{bone_change:.1f} HU")
        rows.append((name, f"{psnr:.2f} dB", f"{rmse:.1f} HU", *changes, *lesions, *harm))
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
        table = Table(*COLUMNS, title=f"{args.model}, {min(args.pairs, len(pairs.infos()))} pairs")
        for row in measure(pairs, args.pairs, args.model):
            table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
