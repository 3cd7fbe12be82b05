"""The report of a reduction: what was changed and where to be careful; for programs (JSON) and people (HTML)."""

from __future__ import annotations

import base64
import html
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from acdnet import __version__
from acdnet.files import write_atomically
from acdnet.reduction.guard import MOST_FAR_CHANGE_HU, MOST_SHIFT_HU
from acdnet.reduction.record import PASSED, REDUCED, UNCHANGED, SliceRecord
from acdnet.scans.scan import NOTICE, ScanSlice

if TYPE_CHECKING:
    from acdnet.reduction.job import Finished

FORMAT = 1
ADVICE = (
    "The original series is untouched and must stay the reference.",
    "What a strong artifact hides can be lost; look at the difference images for anatomy that was taken away.",
    "Trust the image least beside metal and where the expected error is high.",
)
LEGEND = (
    "Before and after in the window -160 to 240 HU; the difference is after minus before; metal is outlined in red. "
    "The expected error is the network's own doubt: it tells where to look first, and is no bound."
)
STYLE = """
body { background: #101418; color: #e8eaed; font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1180px;
  padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem } h3 { font-size: 1rem; margin: 1rem 0 0 }
table { border-collapse: collapse } td, th { padding: .2rem .9rem .2rem 0; text-align: right; white-space: nowrap }
td:first-child, th:first-child, td.text { text-align: left } th { color: #9aa0a6; font-weight: normal }
.notice { border-left: 4px solid #db2129; padding: .3rem .8rem; background: #1b2126 } .warn { color: #f6c26b }
img { width: 100%; margin: .4rem 0 } footer { color: #9aa0a6; margin-top: 2rem }
"""


@dataclass(frozen=True)
class Look:
    """A slice that is shown."""

    MOST: ClassVar[int] = 5
    number: int
    record: SliceRecord
    change: NDArray[np.float32]
    doubt: NDArray[np.float32] | None
    metal: NDArray[np.bool_]


def write_report(finished: Finished, folder: Path, looks: list[tuple[Look, ScanSlice]]) -> list[Path]:
    """Write report.json and report.html, the pictures within it."""
    from acdnet.reduction.pictures import draw_slice

    pictures = [(look, draw_slice(look, slice_)) for look, slice_ in looks]
    data = as_dict(finished)
    paths = [folder / "report.json", folder / "report.html"]
    text = json.dumps(data, indent=1, allow_nan=False) + "\n"
    write_atomically({paths[0]: text.encode(), paths[1]: _page(finished, data, pictures).encode()})
    return paths


def as_dict(finished: Finished) -> dict[str, Any]:
    """Return the report as plain values. It names no patient: series and files appear as hashes."""
    status = Counter(record.status for record in finished.records)
    return {
        "format": FORMAT,
        "notice": NOTICE,
        "version": __version__,
        "method": finished.label,
        "description": finished.provenance.description,
        "identity": finished.provenance.identity,
        "weights": finished.weights,
        "spacing_mm": list(finished.spacing_mm),
        "source": finished.about,
        "counts": {name: status.get(name, 0) for name in (REDUCED, UNCHANGED, PASSED)},
        "skipped_files": finished.skipped,
        "cautions": [*finished.warnings, *cautions(finished.records)],
        "slices": [record.to_dict() for record in finished.records],
    }


def _page(finished: Finished, data: dict[str, Any], pictures: list[tuple[Look, bytes]]) -> str:
    counts = data["counts"]
    made = finished.provenance.created
    rows = [("method", finished.label), ("metal", finished.provenance.metal)]
    rows += [(name, text) for name, text in finished.about.items() if not name.endswith("sha256")]
    rows.append(("made", f"{made[:4]}-{made[4:6]}-{made[6:8]} {made[8:10]}:{made[10:12]} UTC"))
    rows += [(f"slices {name}", str(count)) for name, count in counts.items()]
    rows += [(f"skipped: {reason}", str(count)) for reason, count in finished.skipped.items()]
    facts = "".join(f"<tr><td>{_e(name)}</td><td class=text>{_e(value)}</td></tr>" for name, value in rows)
    careful = "".join(f"<li class=warn>{_e(text)}</li>" for text in data["cautions"])
    careful += "".join(f"<li>{_e(text)}</li>" for text in ADVICE)
    shown = "".join(
        f"<h3>Slice {look.number + 1}</h3><img alt='before, after, difference and expected error' "
        f"src='data:image/png;base64,{base64.b64encode(picture).decode()}'>"
        for look, picture in pictures
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Metal artifact reduction</title>"
        f"<style>{STYLE}</style>"
        f"<h1>Metal artifact reduction</h1><p class=notice>{_e(NOTICE)}</p><table>{facts}</table>"
        f"<h2>Where to be careful</h2><ul>{careful}</ul>"
        f"{shown and f'<h2>The slices that changed most</h2><p>{LEGEND}</p>'}{shown}"
        f"<h2>All slices with metal</h2>{_table(finished.records)}"
        f"<footer>acdnet {_e(__version__)} &middot; {_e(NOTICE)}</footer></html>"
    )


def cautions(records: list[SliceRecord]) -> list[str]:
    """Sum up what is to be said about slices, one line for all slices of a kind."""
    found = []
    for reason in dict.fromkeys(r.reason for r in records if r.status == PASSED):
        found.append(f"{_slices([r for r in records if r.reason == reason])} left as it came: {reason}")
    if far := [r for r in records if (r.far_change_hu or 0.0) > MOST_FAR_CHANGE_HU]:
        span = _span([r.far_change_hu or 0.0 for r in far])
        found.append(f"{_slices(far)}: tissue further than 5 cm from metal changed by {span} HU on average")
    if shifted := [r for r in records if abs(r.soft_shift_hu) > MOST_SHIFT_HU]:
        span = _span([r.soft_shift_hu for r in shifted])
        found.append(f"{_slices(shifted)}: soft tissue was shifted by {span} HU on average")
    if saturated := [r for r in records if r.saturated]:
        found.append(f"{_slices(saturated)}: the metal is cut off at the largest value the images can hold")
    return found


def _slices(records: list[SliceRecord]) -> str:
    """Name slices by their numbers, runs of them shortened: slices 3-7, 9."""
    runs: list[list[int]] = []
    for number in sorted(r.number for r in records):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    told = ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
    return f"slice{'s' if len(records) > 1 else ''} {told}"


def _span(values: list[float]) -> str:
    low, high = round(min(values)), round(max(values))
    return f"{low}" if low == high else f"{low} to {high}"


def _table(records: list[SliceRecord]) -> str:
    columns = ("slice", "status", "metal pixels", "mean change", "largest change", "beyond 5 cm", "expected error")
    head = "".join(f"<th>{name}</th>" for name in columns)
    body = ""
    for r in records:
        if r.status == UNCHANGED:
            continue
        far = "" if r.far_change_hu is None else f"{r.far_change_hu:.1f} HU"
        doubt = "" if r.expected_error_hu is None else f"{r.expected_error_hu:.0f} HU"
        cells = (r.status, r.metal_pixels, f"{r.mean_change_hu:.1f} HU", f"{r.most_change_hu:.0f} HU", far, doubt)
        body += f"<tr><td>{r.number}</td>" + "".join(f"<td>{_e(str(cell))}</td>" for cell in cells) + "</tr>"
    return f"<table><tr>{head}</tr>{body}</table>" if body else "<p>None.</p>"


def _e(text: str) -> str:
    return html.escape(text, quote=True)
