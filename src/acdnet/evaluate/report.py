"""Tables of an evaluation: in the terminal, as Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

import csv
import json
import math
import statistics
from dataclasses import asdict, dataclass
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.evaluate.groups import Group, size_groups
from acdnet.evaluate.lesions import CONTRAST_HU, DIAMETER_MM, Retention
from acdnet.evaluate.run import AREAS, Evaluation, Result
from acdnet.evaluate.statistics import by_patient, compare
from acdnet.evaluate.untouched import ARTIFACT_HU, FAR_MM, TISSUES
from acdnet.files import write_atomically

NOTES = {
    "window": "PSNR (dB) / SSIM of the window 0 to 0.5 / cm, without metal; bold: the highest PSNR",
    "paper": "PSNR (dB) / SSIM as in the paper's tables: each image stretched from its own range to 8 bits, so that "
    "one bright pixel moves the score by several dB; bold: the highest PSNR",
    "hu": "RMSE / MAE of the body in HU, without metal; bold: the smallest RMSE",
}


@dataclass(frozen=True)
class Sheet:
    """A table of texts; the best value of each column is marked by whoever shows it."""

    title: str
    note: str
    columns: list[str]
    rows: list[list[str]]
    best: list[set[int]]
    """For each row, the columns in which it is the best."""


def table_one(evaluation: Evaluation, convention: str) -> Sheet:
    """Return Table 1 of the paper in one convention: methods by metal size, largest first, and the average."""
    groups = size_groups([result.metal_pixels for result in evaluation.of(evaluation.methods[0].name)])
    columns = ["method", *(group.title for group in groups), "average"]
    values = {one.name: _by_group(evaluation.of(one.name), groups, convention) for one in evaluation.methods}
    rows, best = [], []
    for name, cells in values.items():
        rows.append([name, *(_text(cell, convention) for cell in cells)])
        best.append(
            {n + 1 for n, cell in enumerate(cells) if _is_best(cell, [v[n] for v in values.values()], convention)}
        )
    return Sheet(f"By metal size ({convention})", NOTES[convention], columns, rows, best)


def _by_group(results: list[Result], groups: list[Group], convention: str) -> list[tuple[float, float]]:
    parts = [[r for r in results if group.holds(r.metal_pixels)] for group in groups]
    return [_mean(part, convention) for part in (*parts, results)]


def _mean(results: list[Result], convention: str) -> tuple[float, float]:
    if convention == "hu":
        pairs = [(r.scores.rmse["body"], r.scores.mae["body"]) for r in results]
    else:
        pairs = [(getattr(r.scores, f"{convention}_psnr"), getattr(r.scores, f"{convention}_ssim")) for r in results]
    first, second = np.nanmean(np.asarray(pairs, float), axis=0)
    return float(first), float(second)


def _text(cell: tuple[float, float], convention: str) -> str:
    return f"{cell[0]:.1f} / {cell[1]:.1f}" if convention == "hu" else f"{cell[0]:.2f} / {cell[1]:.4f}"


def _is_best(cell: tuple[float, float], others: list[tuple[float, float]], convention: str) -> bool:
    firsts = [other[0] for other in others]
    return cell[0] == (min(firsts) if convention == "hu" else max(firsts))


def table_regions(evaluation: Evaluation) -> Sheet:
    """Return RMSE in HU by region."""
    rows = []
    for one in evaluation.methods:
        found = evaluation.of(one.name)
        rows.append([one.name, *(f"{np.nanmean([r.scores.rmse[area] for r in found]):.1f}" for area in AREAS)])
    best = [{n for n in range(1, 5) if float(row[n]) == min(float(other[n]) for other in rows)} for row in rows]
    note = "RMSE in HU: body, soft tissue (-200 to 200 HU), bone (over 200 HU), ring of 10 pixels round the metal"
    return Sheet("By region", note, ["method", *AREAS], rows, best)


def table_needless(evaluation: Evaluation) -> Sheet:
    """Return how much each method changes what needs no change."""
    rows = []
    for one in evaluation.methods:
        found = evaluation.of(one.name)
        cells = [[r.needless.get(tissue, math.nan) for r in found] for tissue in TISSUES]
        rows.append([one.name, *(f"{np.nanmean(cell):.1f}" if np.isfinite(cell).any() else "-" for cell in cells)])
    where = f"over {FAR_MM / 10:g} cm from metal and where the artifact is below {ARTIFACT_HU:g} HU"
    note = f"mean absolute change in HU, {where}"
    return Sheet("Left alone", note, ["method", "soft tissue", "bone"], rows, [set() for _ in rows])


def table_two(evaluation: Evaluation) -> Sheet:
    """Return Table 2 of the paper: parameters and seconds a slice, here on this machine."""
    rows = []
    for one in evaluation.methods:
        seconds = statistics.median(result.seconds for result in evaluation.of(one.name))
        rows.append([one.name, f"{one.parameters:,}" if one.parameters else "-", f"{seconds:.3f}"])
    note = (
        "median seconds a slice on this machine's CPU, from raw data where there are any, else from the image; "
        "networks include the LI or trace fit they begin with"
    )
    return Sheet("Cost", note, ["method", "parameters", "seconds a slice"], rows, [set() for _ in rows])


def table_tests(evaluation: Evaluation) -> Sheet:
    """Return p-values of every method against the best, over images and over patients, for window PSNR."""
    psnr = {one.name: [r.scores.window_psnr for r in evaluation.of(one.name)] for one in evaluation.methods}
    patients = [r.patient for r in evaluation.of(evaluation.methods[0].name)]
    top = max(psnr, key=lambda name: statistics.fmean(psnr[name]))
    rows = []
    for name, values in psnr.items():
        found = compare(values, psnr[top])
        of_patients = compare(by_patient(values, patients), by_patient(psnr[top], patients))
        cells = ["best"] * 3 if name == top else [_p(found.t_test), _p(found.wilcoxon), _p(of_patients.t_test)]
        rows.append([name, f"{statistics.fmean(values):.2f}", *cells])
    note = (
        f"window PSNR against {top}, over {len(patients)} images as in the paper, and over the means of "
        f"{len(set(patients))} patients: images of one patient are not independent; not corrected for several tests"
    )
    columns = ["method", "mean PSNR", "p, paired t-test", "p, Wilcoxon", "p, t-test of patients"]
    return Sheet("Significance", note, columns, rows, [{1} if name == top else set() for name in psnr])


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.1e}" if value < 0.001 else f"{value:.3f}"


def table_lesions(kept: list[Retention]) -> Sheet:
    """Return the share of a small lesion's contrast that each method keeps."""
    places = list(dict.fromkeys(one.place for one in kept))
    rows = []
    for name in dict.fromkeys(one.method for one in kept):
        cells = [[one.kept for one in kept if (one.method, one.place) == (name, place)] for place in places]
        rows.append([name, *(f"{np.mean(cell):.0%} ({min(cell):.0%})" for cell in cells)])
    note = (
        f"contrast kept of discs of {DIAMETER_MM:g} mm and {CONTRAST_HU:g} HU, mean and (worst); models whose card "
        "says so were trained with lesions of many sizes and contrasts put in"
    )
    return Sheet("Lesion retention", note, ["method", *places], rows, [set() for _ in rows])


def all_tables(evaluation: Evaluation, kept: list[Retention]) -> list[Sheet]:
    """Return all tables, the headline first."""
    by_size = [table_one(evaluation, convention) for convention in ("window", "paper", "hu")]
    rest = [table_regions(evaluation), table_needless(evaluation), table_two(evaluation), table_tests(evaluation)]
    return [*by_size, *rest, *([table_lesions(kept)] if kept else [])]


def markdown(sheet: Sheet) -> str:
    """Format a table for Markdown."""
    lines = [sheet.columns, ["---"] + ["---:"] * (len(sheet.columns) - 1)]
    for row, best in zip(sheet.rows, sheet.best, strict=True):
        lines.append([f"**{text}**" if n in best else text for n, text in enumerate(row)])
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"## {sheet.title}\n\n{table}\n\n{sheet.note}.\n"


def latex(sheet: Sheet) -> str:
    """Format a table for LaTeX with booktabs."""
    lines = [r"\begin{tabular}{l" + "r" * (len(sheet.columns) - 1) + "}", r"\toprule"]
    lines += [" & ".join(_escaped(text) for text in sheet.columns) + r" \\", r"\midrule"]
    for row, best in zip(sheet.rows, sheet.best, strict=True):
        cells = [rf"\textbf{{{_escaped(text)}}}" if n in best else _escaped(text) for n, text in enumerate(row)]
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([f"% {sheet.title}: {sheet.note}", *lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _escaped(text: str) -> str:
    return text.replace("_", r"\_").replace("%", r"\%").replace("&", r"\&")


def write_report(evaluation: Evaluation, kept: list[Retention], out: Path, about: dict[str, Any]) -> list[Path]:
    """Write all tables in all formats, and every single score."""
    sheets = all_tables(evaluation, kept)
    rows = [result.row() for result in evaluation.results]
    single = StringIO()
    writer = csv.DictWriter(single, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    table = StringIO()
    for sheet in sheets:
        csv.writer(table).writerows([[sheet.title], sheet.columns, *sheet.rows, []])
    title = "# Evaluation\n\nResearch use only. Not a medical device.\n\n"
    files = {
        "scores.csv": single.getvalue(),
        "tables.csv": table.getvalue(),
        "tables.md": title + "\n".join(markdown(sheet) for sheet in sheets),
        "tables.tex": "\n".join(latex(sheet) for sheet in sheets),
        "report.json": json.dumps(
            {
                **about,
                "tables": [_as_json(sheet) for sheet in sheets],
                "scores": _finite(rows),
                "lesions": [asdict(one) for one in kept],
            },
            indent=1,
        ),
    }
    write_atomically({out / name: text.encode() for name, text in files.items()})
    return [out / name for name in files]


def write_cases(evaluation: Evaluation, out: Path) -> Path:
    """Keep the cases that are shown, as every method left them, for the viewer; HU in 16 bits."""
    arrays: dict[str, NDArray[Any]] = {}
    for n, (case, images) in enumerate(evaluation.shown):
        for k, one in enumerate(evaluation.methods):
            arrays[f"{n}/m{k}"] = _int16(np.where(case.pair.metal, case.pair.corrupted, images[one.name]))
        arrays[f"{n}/clean"], arrays[f"{n}/metal"] = _int16(case.pair.clean), case.pair.metal
    arrays["cases"] = np.array([case.info.name for case, _ in evaluation.shown])
    arrays["methods"] = np.array([one.name for one in evaluation.methods])
    arrays["pixel_mm"] = np.array([case.pixel_mm or math.nan for case, _ in evaluation.shown])
    buffer = BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    write_atomically({out / "cases.npz": buffer.getvalue()})
    return out / "cases.npz"


def _int16(hu: NDArray[Any]) -> NDArray[np.int16]:
    return np.asarray(np.clip(np.rint(hu), -32768, 32767), np.int16)


def _as_json(sheet: Sheet) -> dict[str, Any]:
    return {"title": sheet.title, "note": sheet.note, "columns": sheet.columns, "rows": sheet.rows}


def _finite(rows: list[dict[str, str | float]]) -> list[dict[str, str | float | None]]:
    """JSON knows no NaN."""
    return [
        {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in row.items()}
        for row in rows
    ]
