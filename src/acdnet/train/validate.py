"""Score a model on held-out pairs while it is being trained."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import nn

from acdnet.data.pairs import PairSet, some_of
from acdnet.evaluate.metrics import hu_rmse, regions, window_psnr
from acdnet.train.lessons.lesson import Lesson


def validate(lesson: Lesson, model: nn.Module, sets: Sequence[PairSet], count: int) -> dict[str, float]:
    """Return mean window PSNR (dB) and RMSE of soft tissue (HU) of input, LI and model for each set."""
    scores: dict[str, float] = {}
    for number, pairs in enumerate(sets):
        total = len(pairs.infos())
        share = max(1, count // len(sets))
        values: dict[str, list[float]] = {}
        for index in some_of(total, share):
            pair = pairs.read(index)
            result = lesson.reduced(model, pairs, index)
            soft = regions(pair.clean, pair.metal)["soft"]
            for name, image in (("input", pair.corrupted), ("li", pair.li), ("model", result)):
                values.setdefault(f"{name} dB", []).append(window_psnr(image, pair.clean, pair.metal))
                values.setdefault(f"{name} soft HU", []).append(hu_rmse(image, pair.clean, soft))
        label = f"{number + 1} {pairs.protocol} " if len(sets) > 1 else ""
        scores |= {f"{label}{name}": round(float(np.nanmean(found)), 3) for name, found in values.items()}
    return scores
