"""Score methods on pairs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from acdnet.config import BENCHMARK, CLINICAL
from acdnet.data.pairs import PairSet, mark, some_of
from acdnet.errors import InputRefused
from acdnet.evaluate.case import Case
from acdnet.evaluate.metrics import Scores, score
from acdnet.evaluate.off_target import Change, needless
from acdnet.methods.classical import ClassicalMethod
from acdnet.methods.method import Method

AREAS = ("body", "soft", "bone", "ring")


@dataclass(frozen=True)
class CaseScores:
    """The scores of one method on one case."""

    case: str
    metal_pixels: int
    method: str
    seconds: float
    """From raw data, if there are any, or the slice to the result, including the start images of networks."""
    scores: Scores
    needless: dict[str, Change] = field(default_factory=dict)
    """Needless changes far from metal, in the clinical protocol only. In the benchmark's, slices with and without metal
    differ everywhere, because only one of them is a reconstruction."""
    patient: str = ""

    def row(self) -> dict[str, str | float]:
        """Return the scores as a flat row."""
        s = self.scores
        hu = {f"{kind}_{area}_hu": getattr(s, kind)[area] for kind in ("rmse", "mae") for area in AREAS}
        window = {"window_psnr": s.window_psnr, "window_ssim": s.window_ssim}
        paper = {"paper_psnr": s.paper_psnr, "paper_ssim": s.paper_ssim}
        named: dict[str, str | float] = {
            "case": self.case,
            "patient": mark(self.patient),
            "metal_pixels": self.metal_pixels,
            "method": self.method,
        }
        needless = {f"needless_{tissue}_hu": change.hu for tissue, change in self.needless.items()}
        needless |= {f"needless_{tissue}_pixels": change.pixels for tissue, change in self.needless.items()}
        return named | {"seconds": self.seconds} | window | paper | hu | needless


@dataclass
class Evaluation:
    """All scores, and example images."""

    methods: list[Method]
    results: list[CaseScores] = field(default_factory=list)
    shown: list[tuple[Case, dict[str, NDArray[np.float32]]]] = field(default_factory=list)

    def of(self, method: str) -> list[CaseScores]:
        """Return the scores of a method in the order of the cases."""
        return [result for result in self.results if result.method == method]


def evaluate(pairs: PairSet, evaluation: Evaluation, count: int = 0, show: int = 4) -> Iterator[int]:
    """Score all methods on all pairs, or on `count` of them; yield the number of finished cases."""
    chosen = some_of(len(pairs.infos()), count)
    infos = pairs.infos()
    by_size = sorted(chosen, key=lambda index: infos[index].metal_pixels or 0)
    shown = {by_size[place] for place in np.linspace(0, len(by_size) - 1, min(show, len(by_size))).astype(int)}
    for done, index in enumerate(chosen, 1):
        case = Case.read(pairs, index)
        images: dict[str, NDArray[np.float32]] = {}
        li_seconds = _seconds_of_li(case)
        for one in evaluation.methods:
            start = time.perf_counter()
            image = one(case.measurement(one.device)).image_hu
            seconds = time.perf_counter() - start + (li_seconds if _takes_given_li(one, case) else 0.0)
            if not np.isfinite(image[~case.pair.metal]).all():
                raise InputRefused(f"{case.info.name}: the result of {one.label} contains values that are not finite")
            scores = score(image, case.pair.clean, case.pair.metal)
            needed = needless(image, case) if case.protocol == CLINICAL else {}
            found = CaseScores(case.info.name, case.metal_pixels, one.label, seconds, scores, needed, case.info.patient)
            evaluation.results.append(found)
            images[one.label] = image
        if index in shown:
            evaluation.shown.append((case, images))
        yield done


def _takes_given_li(method: Method, case: Case) -> bool:
    """Tell whether a method uses the LI image of the pair instead of computing it."""
    return method.starts_from.endswith("LI") or method.name == "li" if case.protocol == BENCHMARK else False


def _seconds_of_li(case: Case) -> float:
    """Measure the time of LI from raw data, if there are any, or from the image."""
    measurement = replace(case.measurement(), given={})
    if measurement.raw is None:
        measurement = replace(measurement, needs_raw=False)
    start = time.perf_counter()
    ClassicalMethod("li", "LI")(measurement)
    return time.perf_counter() - start
