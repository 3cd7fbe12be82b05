"""The gain of the trace correction, and where it does harm: `python -m benchmarks.trace_correction [STORE]`.

One network, on pairs of the clinical protocol (phantoms, or a store of `acdnet simulate`): its image, the same after
the trace correction (`acdnet.methods.trace_correction`), and also with dense bone set aside
(`acdnet.methods.hu_adapter`), as the model does it. The image that the network starts from is shown for comparison.
"Worst" is the pair whose soft tissue suffers most from the step.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np

from acdnet.data.pairs import PairSet, some_of
from acdnet.evaluate.case import Case
from acdnet.evaluate.lesions import lesion_retention
from acdnet.evaluate.run import Evaluation, evaluate
from acdnet.methods.acdnet import ACDNetMethod
from acdnet.methods.method import Image, Method
from acdnet.methods.registry import get_method
from acdnet.physics.measurement import Measurement
from acdnet.weights.load import load_model
from benchmarks.harness import Table
from benchmarks.trust import clinical_pairs

PAIRS = 12
COLUMNS = (
    *("image", "PSNR", "soft tissue", "soft tissue, needlessly", "bone, needlessly"),
    *("lesions near metal", "far from it", "pairs improved", "worst"),
)
STEPS = ("network", "trace correction", "trace correction, dense bone set aside")


class WithBone(ACDNetMethod):
    """The network with trace correction that receives all bone."""

    def give_back(self, images: Sequence[Image], measurements: Sequence[Measurement]) -> list[Image]:
        return super().give_back(self._trace_corrected(images, measurements), measurements)


def variants(model: str) -> list[Method]:
    """Return the method that the network starts from, and the network with each step."""
    network = load_model(model)
    plain, whole = copy(network), copy(network)
    plain.config = replace(network.config, last="none")
    whole.config = replace(network.config, last="trace_correction")
    networks = [ACDNetMethod(plain), WithBone(plain), ACDNetMethod(whole)]
    for method, label in zip(networks, STEPS, strict=True):
        method.label = label
    return [get_method(network.config.first, "cpu"), *networks]


def measure(pairs: PairSet, count: int = PAIRS, model: str = "default") -> Table:
    """Score every variant; return the rows of the table."""
    evaluation = Evaluation(variants(model))
    list(evaluate(pairs, evaluation, count, show=0))
    kept = [
        one
        for index in some_of(len(pairs.infos()), count)
        for one in lesion_retention(Case.read(pairs, index), evaluation.methods, np.random.default_rng(index))
    ]
    rows, before = [], None
    for label in (one.label for one in evaluation.methods):
        found = evaluation.of(label)
        after = np.array([one.scores.rmse["soft"] for one in found])
        psnr = np.mean([one.scores.window_psnr for one in found])
        changes = [np.nanmean([one.needless[tissue].hu for one in found]) for tissue in ("soft", "bone")]
        shares = [[one.kept for one in kept if (one.method, one.place) == (label, at)] for at in ("near", "far")]
        lesions = [f"{np.mean(share):.0%}" if share else "-" for share in shares]
        harm = ["", ""]
        if before is not None:
            worst = int(np.nanargmax(after - before))
            harm = [f"{int((after < before).sum())} of {len(after)}", f"{before[worst]:.1f} to {after[worst]:.1f} HU"]
        before = after
        scores = [f"{psnr:.2f} dB", *(f"{hu:.1f} HU" for hu in (np.nanmean(after), *changes))]
        rows.append([label, *scores, *lesions, *harm])
    return Table(COLUMNS, rows)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path, nargs="?")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--model", default="default")
    given = parser.parse_args()
    with clinical_pairs(given.store) as pairs:
        measure(pairs, given.pairs, given.model).print()


if __name__ == "__main__":
    main()
