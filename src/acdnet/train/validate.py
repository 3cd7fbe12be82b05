"""Validation: score a method on held-out pairs during training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from acdnet.data.pairs import PairSet, some_of
from acdnet.evaluate.case import Case
from acdnet.evaluate.metrics import hu_rmse, regions, window_psnr
from acdnet.methods.method import Method


def validate(method: Method, sets: Sequence[PairSet], count: int) -> dict[str, float]:
    """Return the mean window PSNR (dB) and soft-tissue RMSE (HU) of input, LI and model for each set."""
    scores: dict[str, float] = {}
    for number, pairs in enumerate(sets):
        share = max(1, count // len(sets))
        values: dict[str, list[float]] = {}
        for index in some_of(len(pairs.infos()), share):
            case = Case.read(pairs, index)
            pair, result = case.pair, method(case.measurement(method.device)).image_hu
            soft = regions(pair.clean, pair.metal)["soft"]
            for name, image in (("input", pair.corrupted), ("li", pair.li), ("model", result)):
                values.setdefault(f"{name} dB", []).append(window_psnr(image, pair.clean, pair.metal))
                values.setdefault(f"{name} soft HU", []).append(hu_rmse(image, pair.clean, soft))
        label = f"{number + 1} {pairs.protocol} " if len(sets) > 1 else ""
        scores |= {f"{label}{name}": round(float(np.nanmean(found)), 3) for name, found in values.items()}
    return scores
