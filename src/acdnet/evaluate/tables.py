"""The tables of an evaluation as texts: those of the paper and others."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import TypeAlias

import numpy as np

from acdnet.evaluate.lesions import CONTRAST_HU, DIAMETER_MM, FAR_MM, NEAR_MM, Retention
from acdnet.evaluate.off_target import ARTIFACT_HU, TISSUES, over_pixels, over_slices
from acdnet.evaluate.run import AREAS, CaseScores, Evaluation
from acdnet.evaluate.size_bins import Group, size_groups
from acdnet.evaluate.statistics import by_patient, compare

SEPARATOR = " / "
"""Separator of two numbers in a cell."""
NOTES = {
    "window": "PSNR (dB) / SSIM of the window 0 to 0.5 / cm, outside metal",
    "paper": "PSNR (dB) / SSIM as in the paper's tables: each image stretched from its own range to 8 bits, so that "
    "one bright pixel changes the score by several dB",
    "hu": "RMSE / MAE of the body in HU, outside metal",
    "soft": "RMSE / MAE of soft tissue (-200 to 200 HU) in HU, outside metal",
}
AREA_OF = {"hu": "body", "soft": "soft"}
"""Regions of the conventions in HU, for which lower is better."""
RANKED = "; best in bold, second best in italics"

Ranks: TypeAlias = dict[tuple[int, int, int], int]
Numbers: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class Sheet:
    """A table of texts; cells may contain two numbers."""

    title: str
    note: str
    columns: list[str]
    rows: list[list[str]]
    ranks: Ranks = field(default_factory=dict)
    """1 for the best, 2 for the second best, by row, column and place in the cell."""

    def parts(self, row: int) -> list[list[tuple[str, int]]]:
        """Return the cells of a row, each text with its rank, or 0."""
        cells = [text.split(SEPARATOR) for text in self.rows[row]]
        return [[(text, self.ranks.get((row, n, k), 0)) for k, text in enumerate(cell)] for n, cell in enumerate(cells)]


def ranked(values: Sequence[float], column: int, place: int = 0, least: bool = False) -> Ranks:
    """Rank the methods in a column; equal values share a rank."""
    ordered = sorted({value for value in values if math.isfinite(value)}, reverse=not least)[:2]
    return {(row, column, place): ordered.index(value) + 1 for row, value in enumerate(values) if value in ordered}


def table_one(evaluation: Evaluation, convention: str) -> Sheet:
    """Return Table 1 of the paper in one convention: methods by metal size, largest first, and on average."""
    groups = size_groups([result.metal_pixels for result in evaluation.of(evaluation.methods[0].label)])
    columns = ["method", *(group.title for group in groups), "average"]
    values = [_by_group(evaluation.of(one.label), groups, convention) for one in evaluation.methods]
    return _paired(f"By metal size ({convention})", NOTES[convention], columns, evaluation, values, convention)


def _paired(
    title: str, note: str, columns: list[str], evaluation: Evaluation, values: list[list[Numbers]], convention: str
) -> Sheet:
    """Return a table of two ranked numbers per cell, one row per method."""
    rows = [
        [one.label, *(_text(cell, convention) for cell in cells)]
        for one, cells in zip(evaluation.methods, values, strict=True)
    ]
    ranks: Ranks = {}
    for n in range(len(columns) - 1):
        for place in range(2):
            ranks |= ranked([cells[n][place] for cells in values], n + 1, place, least=convention in AREA_OF)
    return Sheet(title, note + RANKED, columns, rows, ranks)


def _by_group(results: list[CaseScores], groups: list[Group], convention: str) -> list[tuple[float, float]]:
    parts = [[r for r in results if group.holds(r.metal_pixels)] for group in groups]
    return [_mean(part, convention) for part in (*parts, results)]


def _mean(results: list[CaseScores], convention: str) -> tuple[float, float]:
    if area := AREA_OF.get(convention):  # an image may have no such region
        return _known([r.scores.rmse[area] for r in results]), _known([r.scores.mae[area] for r in results])
    pairs = [(getattr(r.scores, f"{convention}_psnr"), getattr(r.scores, f"{convention}_ssim")) for r in results]
    first, second = np.mean(np.asarray(pairs, float), axis=0)
    return float(first), float(second)


def _known(values: list[float]) -> float:
    """Return the mean without NaN."""
    return float(np.nanmean(values)) if np.isfinite(values).any() else math.nan


def _text(cell: tuple[float, float], convention: str) -> str:
    if convention in AREA_OF:
        return f"{_hu(cell[0])}{SEPARATOR}{_hu(cell[1])}"
    return f"{cell[0]:.2f}{SEPARATOR}{cell[1]:.4f}"


def table_regions(evaluation: Evaluation) -> Sheet:
    """Return RMSE and MAE in HU by region."""
    found = [evaluation.of(one.label) for one in evaluation.methods]
    values = [
        [
            (_known([r.scores.rmse[area] for r in results]), _known([r.scores.mae[area] for r in results]))
            for area in AREAS
        ]
        for results in found
    ]
    note = (
        "RMSE / MAE in HU: body, soft tissue (-200 to 200 HU), bone (over 200 HU), ring of 10 pixels around the metal"
    )
    return _paired("By region", note, ["method", *AREAS], evaluation, values, "hu")


def table_needless(evaluation: Evaluation) -> Sheet:
    """Return the needless changes of each method."""
    rows = []
    for one in evaluation.methods:
        found = evaluation.of(one.label)
        changes = [[r.needless[tissue] for r in found if tissue in r.needless] for tissue in TISSUES]
        rows.append([one.label, *(_hu(mean(change)) for change in changes for mean in (over_slices, over_pixels))])
    where = f"more than {FAR_MM / 10:g} cm from metal where the artifact is below {ARTIFACT_HU:g} HU"
    note = (
        f"mean absolute change in HU {where}: the mean of the slices' means, in which a few pixels count as much as "
        "a whole pelvis, and the mean over all pixels"
    )
    columns = [f"{tissue}, {what}" for tissue in ("soft tissue", "bone") for what in ("by slice", "by pixel")]
    return Sheet("Needless changes", note, ["method", *columns], rows)


def _hu(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.1f}"


def table_two(evaluation: Evaluation) -> Sheet:
    """Return Table 2 of the paper, parameters and seconds per slice, and the training of networks."""
    rows = []
    for one in evaluation.methods:
        seconds = statistics.median(result.seconds for result in evaluation.of(one.label))
        cost = [f"{one.parameters:,}" if one.parameters else "-", f"{seconds:.3f}"]
        t = one.training
        trained = [t.protocol, f"{t.patches_seen:,}", f"{t.hours:g}"] if t else ["-"] * 3
        rows.append([one.label, *cost, one.starts_from or "-", *trained])
    note = (
        "median seconds per slice on the CPU of this machine, from raw data if there are any, else from the image, "
        "including the start images of networks. Training examples are patches of various sizes, or whole slices"
    )
    columns = ["method", "parameters", "seconds per slice", "starts from", "trained on", "examples", "hours"]
    return Sheet("Cost", note, columns, rows)


def table_tests(evaluation: Evaluation, convention: str) -> Sheet:
    """Return p-values of PSNR or RMSE in HU of every method against the best, over images and over patients."""
    area = AREA_OF.get(convention)
    found = {one.label: evaluation.of(one.label) for one in evaluation.methods}
    values = {
        name: [r.scores.rmse[area] if area else getattr(r.scores, f"{convention}_psnr") for r in results]
        for name, results in found.items()
    }
    whole = [not any(map(math.isnan, of_image)) for of_image in zip(*values.values(), strict=True)]
    patients = list(compress((r.patient for r in found[evaluation.methods[0].label]), whole))
    values = {name: list(compress(of_method, whole)) for name, of_method in values.items()}
    means = {name: statistics.fmean(of_method) if of_method else math.nan for name, of_method in values.items()}
    top = (min if area else max)(means, key=means.__getitem__)
    rows = []
    for name, of_method in values.items():
        over_images = compare(of_method, values[top])
        over_patients = compare(by_patient(of_method, patients), by_patient(values[top], patients))
        tests = over_images.t_test, over_images.wilcoxon, over_patients.t_test
        rows.append(
            [
                name,
                "-" if math.isnan(means[name]) else f"{means[name]:.2f}",
                *(["best"] * 3 if name == top else map(_p, tests)),
            ]
        )
    score = "RMSE of soft tissue in HU" if area else f"PSNR ({convention})"
    note = (
        f"{score} against {top}, over {len(patients)} images as in the paper, and over the means of "
        f"{len(set(patients))} patients, since images of one patient are not independent; "
        "not corrected for multiple tests"
    )
    if len(set(patients)) == 1:
        note += "; a single patient does not allow conclusions about others"
    columns = ["method", "mean", "p, paired t-test", "p, Wilcoxon", "p, t-test of patients"]
    ranks = ranked(list(means.values()), 1, least=bool(area))
    return Sheet(f"Significance ({convention})", note, columns, rows, ranks)


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def table_lesions(kept: list[Retention]) -> Sheet:
    """Return the share of the contrast of small lesions that each method preserves."""
    places = list(dict.fromkeys(one.place for one in kept))
    rows = []
    for name in dict.fromkeys(one.method for one in kept):
        cells = [[one.kept for one in kept if (one.method, one.place) == (name, place)] for place in places]
        rows.append([name, *(f"{np.mean(np.minimum(c, 1.0)):.1%} ({min(c):.0%} to {max(c):.0%})" for c in cells)])
    counts = [len({one.case for one in kept if one.place == place}) for place in places]
    discs = ", ".join(f"{count} {place}" for count, place in zip(counts, places, strict=True))
    note = (
        f"retained contrast of discs of {DIAMETER_MM:g} mm and {CONTRAST_HU:g} HU ({discs}): mean, values above 100 % "
        f"counted as 100 %, and (range). Near is {NEAR_MM[0]:g} to {NEAR_MM[1]:g} mm from metal, far is over "
        f"{FAR_MM:g} mm. Discs are added to the clean and to the corrupted image, so that the artifact is unchanged. "
        "Models with trace correction do not change slices without metal. Some models were trained with inserted "
        "lesions, as stated on their cards"
    )
    return Sheet("Lesion retention", note, ["method", *places], rows)


def all_tables(evaluation: Evaluation, kept: list[Retention]) -> list[Sheet]:
    """Return all tables, the most important first."""
    by_size = [table_one(evaluation, convention) for convention in ("window", "paper", "hu", "soft")]
    tests = [table_tests(evaluation, convention) for convention in ("window", "paper", "soft")]
    needless = [table_needless(evaluation)] if any(result.needless for result in evaluation.results) else []
    lesions = [table_lesions(kept)] if kept else []
    return [*by_size, table_regions(evaluation), *needless, table_two(evaluation), *tests, *lesions]
