"""Write an evaluation: tables as Markdown, LaTeX, CSV and JSON, single scores, and the example images."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import asdict
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.evaluate.lesions import Retention
from acdnet.evaluate.run import Evaluation
from acdnet.evaluate.tables import SEPARATOR, Sheet, all_tables
from acdnet.files import write_atomically

MARKDOWN, LATEX = ("{}", "**{}**", "*{}*"), ("{}", r"\textbf{{{}}}", r"\textit{{{}}}")
TERMINAL = ("{}", "[bold]{}[/]", "[italic]{}[/]")
"""Formats of numbers without rank, of the best, and of the second best."""
UNFINISHED = "unfinished.csv"
"""Scores of an interrupted evaluation; the next one in the same folder overwrites them."""


def marked(cell: list[tuple[str, int]], styles: tuple[str, ...]) -> str:
    """Return the text of a cell with its numbers formatted by rank."""
    return SEPARATOR.join(styles[rank].format(text) for text, rank in cell)


def markdown(sheet: Sheet) -> str:
    """Format a table for Markdown."""
    lines = [sheet.columns, ["---"] + ["---:"] * (len(sheet.columns) - 1)]
    for n in range(len(sheet.rows)):
        lines.append([marked(cell, MARKDOWN) for cell in sheet.parts(n)])
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"## {sheet.title}\n\n{table}\n\n{sheet.note}.\n"


def latex(sheet: Sheet) -> str:
    """Format a table for LaTeX with booktabs."""
    lines = [r"\begin{tabular}{l" + "r" * (len(sheet.columns) - 1) + "}", r"\toprule"]
    lines += [" & ".join(_escaped(text) for text in sheet.columns) + r" \\", r"\midrule"]
    for n in range(len(sheet.rows)):
        cells = [[(_escaped(text), rank) for text, rank in cell] for cell in sheet.parts(n)]
        lines.append(" & ".join(marked(cell, LATEX) for cell in cells) + r" \\")
    return "\n".join([f"% {sheet.title}: {sheet.note}", *lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _escaped(text: str) -> str:
    return text.replace("_", r"\_").replace("%", r"\%").replace("&", r"\&")


def write_report(evaluation: Evaluation, kept: list[Retention], out: Path, about: dict[str, Any]) -> list[Path]:
    """Write all tables in all formats, and all single scores."""
    sheets = all_tables(evaluation, kept)
    rows = [result.row() for result in evaluation.results]
    table = StringIO()
    for sheet in sheets:
        csv.writer(table).writerows([[sheet.title], sheet.columns, *sheet.rows, []])
    title = "# Evaluation\n\nResearch use only. Not a medical device.\n\n"
    files = {
        "scores.csv": _single(rows),
        "tables.csv": table.getvalue(),
        "tables.md": title + "\n".join(markdown(sheet) for sheet in sheets),
        "tables.tex": "\n".join(latex(sheet) for sheet in sheets),
        "report.json": json.dumps(
            {
                **about,
                "tables": [
                    {"title": one.title, "note": one.note, "columns": one.columns, "rows": one.rows} for one in sheets
                ],
                "scores": _finite(rows),
                "lesions": [asdict(one) for one in kept],
            },
            indent=1,
        ),
    }
    write_atomically({out / name: text.encode() for name, text in files.items()})
    return [out / name for name in files]


def write_unfinished(evaluation: Evaluation, out: Path) -> Path | None:
    """Write the scores of an interrupted evaluation for cases scored by all methods; return None if there are none."""
    cases = [len(evaluation.of(one.label)) for one in evaluation.methods]
    rows = [result.row() for result in evaluation.results[: min(cases) * len(cases)]]
    if not rows:
        return None
    path = out / UNFINISHED
    write_atomically({path: _single(rows).encode()})
    return path


def _single(rows: list[dict[str, str | float]]) -> str:
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def write_cases(evaluation: Evaluation, out: Path) -> Path:
    """Write the example images of all methods for the viewer; HU in 16 bits."""
    arrays: dict[str, NDArray[Any]] = {}
    for n, (case, images) in enumerate(evaluation.shown):
        for k, one in enumerate(evaluation.methods):
            arrays[f"{n}/m{k}"] = _int16(np.where(case.pair.metal, case.pair.corrupted, images[one.label]))
        arrays[f"{n}/clean"], arrays[f"{n}/metal"] = _int16(case.pair.clean), case.pair.metal
    arrays["cases"] = np.array([case.info.name for case, _ in evaluation.shown])
    arrays["methods"] = np.array([one.label for one in evaluation.methods])
    arrays["pixel_mm"] = np.array([case.pixel_mm or math.nan for case, _ in evaluation.shown])
    buffer = BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    write_atomically({out / "cases.npz": buffer.getvalue()})
    return out / "cases.npz"


def _int16(hu: NDArray[Any]) -> NDArray[np.int16]:
    return np.asarray(np.clip(np.rint(hu), -32768, 32767), np.int16)


def _finite(rows: list[dict[str, str | float]]) -> list[dict[str, str | float | None]]:
    """Replace NaN, which JSON does not have, by null."""
    return [
        {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in row.items()}
        for row in rows
    ]
