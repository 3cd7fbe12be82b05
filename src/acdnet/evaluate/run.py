"""Score methods on pairs and keep every single score."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from acdnet.baselines.method import method
from acdnet.data.pairs import PairSet, mark, some_of
from acdnet.errors import InputRefused
from acdnet.evaluate.cases import Case
from acdnet.evaluate.contestants import Contestant
from acdnet.evaluate.metrics import Scores, score
from acdnet.evaluate.untouched import Change, needless

AREAS = ("body", "soft", "bone", "ring")


@dataclass(frozen=True)
class Result:
    """The score of one method on one case."""

    case: str
    metal_pixels: int
    method: str
    seconds: float
    """From what is given (raw data, or else the slice) to the result, what networks begin with included."""
    scores: Scores
    needless: dict[str, Change] = field(default_factory=dict)
    """Change of tissue that is clean as it is, far from the metal. In the clinical protocol alone: in the
    benchmark's, slices with and without metal differ everywhere, as only one of them was reconstructed anew."""
    patient: str = ""

    def row(self) -> dict[str, str | float]:
        """Return it flat, for a table of all single scores."""
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
    """All results, and some images to look at."""

    methods: list[Contestant]
    results: list[Result] = field(default_factory=list)
    shown: list[tuple[Case, dict[str, NDArray[np.float32]]]] = field(default_factory=list)

    def of(self, method: str) -> list[Result]:
        """Return the results of a method, in the order of the cases."""
        return [result for result in self.results if result.method == method]


def evaluate(pairs: PairSet, evaluation: Evaluation, count: int = 0, show: int = 4) -> Iterator[int]:
    """Score all methods on all pairs, or on `count` of them; yield after each case how many are done."""
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
            image = one.run(replace(case))  # a fresh one: nobody profits from what was projected before
            seconds = time.perf_counter() - start + (li_seconds if one.starts_from_li and case.li_is_given else 0.0)
            if not np.isfinite(image[~case.pair.metal]).all():
                raise InputRefused(f"{case.info.name}: {one.name} makes numbers of it that are not finite")
            scores = score(image, case.pair.clean, case.pair.metal)
            needed = needless(image, case) if case.protocol == "clinical" else {}
            found = Result(case.info.name, case.metal_pixels, one.name, seconds, scores, needed, case.info.patient)
            evaluation.results.append(found)
            images[one.name] = image
        if index in shown:
            evaluation.shown.append((case, images))
        yield done


def _seconds_of_li(case: Case) -> float:
    """Time LI from what the other methods are given, too: raw data where there are any, else the image."""
    projected = case.protocol == "syndeeplesion" and case.sinogram is None
    start = time.perf_counter()
    method("li")(case.from_image() if projected else replace(case).measured)
    return time.perf_counter() - start
