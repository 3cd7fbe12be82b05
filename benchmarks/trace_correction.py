"""What giving back to rays beside the metal does: `python -m benchmarks.beside [STORE] [--model NAME] [--pairs 12]`.

One network, on pairs of the clinical protocol (phantoms, or a store of `acdnet simulate`): its image as it is, with
what is given back (`acdnet.methods.trace_correction`), and with dense bone set aside, too (`acdnet.methods.hu_adapter`), as the model
does it. The first image is shown for comparison. "Worst" is the pair whose soft tissue suffers most from the step.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict, deque
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from acdnet.data.pairs import PairSet, open_pairs, some_of
from acdnet.evaluate.case import Case
from acdnet.evaluate.lesions import lesion_retention
from acdnet.evaluate.methods import Contestant, first_image
from acdnet.evaluate.metrics import hu_rmse, regions, window_psnr
from acdnet.evaluate.off_target import needless
from acdnet.fast.inference import InferenceACDNet
from acdnet.methods.hu_adapter import decompose_hu, in_range, to_hu
from acdnet.methods.trace_correction import ended
from acdnet.weights.load import load_model
from benchmarks.trust import phantoms

PAIRS = 12
COLUMNS = (
    *("image", "PSNR", "soft tissue", "soft tissue, needlessly", "bone, needlessly"),
    *("lesions near metal", "far from it", "pairs made better", "worst"),
)
Image = NDArray[np.float32]
STEPS = {"network": "none", "given back": "beside", "given back, dense bone set aside": "beside"}
"""What is done, and how the network's image is ended."""
ASIDE = list(STEPS)[-1]


def ways(model: InferenceACDNet) -> list[Contestant]:
    """Return the first image, and the network with each step; it runs once for all that need the same image."""
    plain = copy(model)
    plain.config = replace(model.config, last="none")  # sees all bone
    aside = copy(model)
    aside.config = replace(model.config, last="beside")
    last_cases: deque[tuple[Case, Image, dict[bool, Image]]] = deque(maxlen=2)  # with a lesion and without

    def images(case: Case) -> tuple[Image, dict[bool, Image]]:
        for known, first, found in last_cases:
            if known is case:
                return first, found
        first, pair = first_image(model, case), case.pair
        found = {
            one is aside: to_hu(decompose_hu(one, pair.corrupted, first, pair.metal).image) for one in (plain, aside)
        }
        last_cases.append((case, first, found))
        return first, found

    def step(name: str) -> Callable[[Case], Image]:
        def run(case: Case) -> Image:
            pair, X = case.pair, images(case)[1][name == ASIDE]
            return ended(STEPS[name], X, in_range(pair.corrupted), pair.metal, case.image_geometry)

        return run

    first = Contestant(model.config.first, 0, lambda case: images(case)[0])
    return [first, *(Contestant(name, 0, step(name)) for name in STEPS)]


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
    rows, before = [], None
    for name, values in scores.items():
        psnr, rmse, soft_change, bone_change = np.nanmean(values, axis=0)
        lesions = (f"{np.mean(kept[name, place]):.0%}" if kept[name, place] else "-" for place in ("near", "far"))
        after, harm = np.array(values)[:, 1], ("", "")
        if before is not None:
            worst = int(np.argmax(after - before))
            better = f"{int((after < before).sum())} of {len(after)}"
            harm = (better, f"{before[worst]:.1f} to {after[worst]:.1f} HU")
        before = after
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
