"""The report of a reduction: what changed and what to check, as JSON for programs and HTML for people."""

from __future__ import annotations

import base64
import html
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acdnet import __version__
from acdnet.files import write_atomically
from acdnet.io.scan import NOTICE
from acdnet.io.slices import Change, Image, Mask, Slice
from acdnet.reduction.guard import MAX_FAR_CHANGE_HU, MAX_SHIFT_HU
from acdnet.reduction.object_report import DOUBTFUL, ObjectReport
from acdnet.reduction.slice_report import PASSED, REDUCED, UNCHANGED, SliceReport

if TYPE_CHECKING:
    from acdnet.reduction.files import Finished

FORMAT = 1
MAX_NAMED = 8
"""Doubtful objects that the summary names."""
MAX_EXAMPLES = 5
"""Slices shown as images."""
ADVICE = (
    "The original series is unchanged and remains the reference.",
    "Strong artifacts can hide anatomy that cannot be recovered. Check the difference images for removed anatomy.",
    "The image is least reliable close to metal and where the expected error is high.",
)
LEGEND = (
    "Window of before and after: -160 to 240 HU. The difference is after minus before. Metal is outlined in red. "
    "The expected error is estimated by the network; it shows where to look first and is not an upper bound."
)
OBJECTS = (
    "The probability that an object is metal comes from a network. Doubtful objects were left as they are. Repeat the "
    "reduction with --keep or --drop and the number of an object to decide otherwise."
)
OBJECT_COLUMNS = ("Object", "Decision", "Metal", "Slices", "Middle (row, column, slice)", "Pixels", "Brightest")
STATUS_LABELS = {
    REDUCED: "Slices reduced",
    UNCHANGED: "Slices without metal (unchanged)",
    PASSED: "Slices with metal not reduced",
}
COLUMNS = ("Slice", "Status", "Metal pixels", "Mean change", "Largest change", "Beyond 5 cm", "Expected error")
STYLE = """
body { background: #101418; color: #e8eaed; font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1180px;
  padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem } h3 { font-size: 1rem; margin: 1rem 0 0 }
table { border-collapse: collapse } td, th { padding: .2rem 1.2rem .2rem 0; text-align: right; white-space: nowrap }
td:first-child, th:first-child, .text { text-align: left }
th, .facts td:first-child { color: #9aa0a6; font-weight: normal }
.facts td { white-space: normal; vertical-align: top } .facts td:first-child { white-space: nowrap }
.notice { border-left: 4px solid #db2129; padding: .3rem .8rem; background: #1b2126 } .warn { color: #f6c26b }
.note { color: #9aa0a6 } img { width: 100%; margin: .4rem 0 } footer { color: #9aa0a6; margin-top: 2rem }
"""


@dataclass(frozen=True)
class Example:
    """A slice shown as images in the report."""

    number: int
    """From 0."""
    report: SliceReport
    change: Change
    expected_error_hu: Image | None
    metal: Mask


def write_report(finished: Finished, folder: Path, examples: list[tuple[Example, Slice]]) -> list[Path]:
    """Write report.json, and report.html with embedded images."""
    from acdnet.reduction.pictures import draw_slice

    pictures = [(example, draw_slice(example, slice_)) for example, slice_ in examples]
    data = as_dict(finished)
    paths = [folder / "report.json", folder / "report.html"]
    text = json.dumps(data, indent=1, allow_nan=False) + "\n"
    write_atomically({paths[0]: text.encode(), paths[1]: _page(finished, data, pictures).encode()})
    return paths


def as_dict(finished: Finished) -> dict[str, Any]:
    """Return the report as JSON values, without patient data: series and files appear as hashes."""
    status = Counter(report.status for report in finished.reports)
    objects = finished.objects.reports()
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
        "cautions": [*finished.warnings, *cautions(finished.reports, objects)],
        "objects": [one.to_dict() for one in objects],
        "slices": [report.to_dict() for report in finished.reports],
    }


def _page(finished: Finished, data: dict[str, Any], pictures: list[tuple[Example, bytes]]) -> str:
    warnings = "".join(f"<li class=warn>{_e(_sentence(text))}</li>" for text in data["cautions"])
    advice = "".join(f"<li>{_e(text)}</li>" for text in ADVICE)
    images = "".join(
        f"<h3>Slice {example.number + 1}</h3><img alt='before, after, difference and expected error' "
        f"src='data:image/png;base64,{base64.b64encode(picture).decode()}'>"
        for example, picture in pictures
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Metal artifact reduction</title>"
        f"<style>{STYLE}</style>"
        f"<h1>Metal artifact reduction</h1><p class=notice>{_e(NOTICE)}</p>{_facts(finished, data['counts'])}"
        f"<h2>Check before use</h2><ul>{warnings}{advice}</ul>"
        f"{images and f'<h2>Slices with the largest change</h2><p class=note>{_e(LEGEND)}</p>'}{images}"
        f"<h2>Slices with metal</h2>{_table(finished.reports)}"
        f"<h2>What may be metal</h2><p class=note>{_e(OBJECTS)}</p>{_objects(finished.objects.reports())}"
        f"<footer>acdnet {_e(__version__)} &middot; {_e(NOTICE)}</footer></html>"
    )


def _facts(finished: Finished, counts: dict[str, int]) -> str:
    t = finished.provenance.created
    rows = [("Method", finished.label), ("Metal detection", finished.provenance.metal)]
    rows += [(_sentence(name), text) for name, text in finished.about.items() if not name.endswith("sha256")]
    rows.append(("Created", f"{t[:4]}-{t[4:6]}-{t[6:8]} {t[8:10]}:{t[10:12]} UTC"))
    rows += [(STATUS_LABELS[name], str(count)) for name, count in counts.items() if count or name == REDUCED]
    rows += [(f"Files skipped ({reason})", str(count)) for reason, count in finished.skipped.items()]
    body = "".join(f"<tr><td>{_e(name)}</td><td class=text>{_e(value)}</td></tr>" for name, value in rows)
    return f"<table class=facts>{body}</table>"


def cautions(reports: list[SliceReport], objects: Sequence[ObjectReport] = ()) -> list[str]:
    """Summarise what needs attention, one line per kind."""
    lines = doubts(objects)
    for reason in dict.fromkeys(r.reason for r in reports if r.status == PASSED):
        lines.append(f"{_slices([r for r in reports if r.reason == reason])} not reduced: {reason}")
    for reason in dict.fromkeys(r.reason for r in reports if r.status == REDUCED and r.reason):
        left = [r for r in reports if r.status == REDUCED and r.reason == reason]
        lines.append(f"{_slices(left)}: {reason}")
    if far := [r for r in reports if (r.far_change_hu or 0.0) > MAX_FAR_CHANGE_HU]:
        span = _span([r.far_change_hu or 0.0 for r in far])
        lines.append(f"{_slices(far)}: tissue more than 5 cm from metal changed by {span} HU on average")
    if shifted := [r for r in reports if abs(r.soft_shift_hu) > MAX_SHIFT_HU]:
        span = _span([r.soft_shift_hu for r in shifted])
        lines.append(f"{_slices(shifted)}: soft tissue shifted by {span} HU on average")
    if saturated := [r for r in reports if r.saturated]:
        lines.append(
            f"{_slices(saturated)}: metal is clipped (at 3071 HU or at the largest value that the images can store)"
        )
    return lines


def doubts(objects: Sequence[ObjectReport]) -> list[str]:
    """Say which objects may be metal."""
    objects = [one for one in objects if one.decision == DOUBTFUL]
    if not objects:
        return []
    named = [f"{one.number} ({_range(one)}, {one.probability:.0%})" for one in objects[:MAX_NAMED]]
    more = f" and {len(objects) - MAX_NAMED} more" if len(objects) > MAX_NAMED else ""
    what = "object may be metal and was left as it is" if len(objects) == 1 else "objects may be metal and were left"
    return [f"{len(objects)} {what}: {', '.join(named)}{more}; to reduce its artifact, repeat with --keep NUMBER"]


def _range(one: ObjectReport) -> str:
    if one.first_slice == one.last_slice:
        return f"slice {one.first_slice}"
    return f"slices {one.first_slice}-{one.last_slice}"


def _slices(reports: list[SliceReport]) -> str:
    """List slice numbers with ranges: slices 3-7, 9."""
    runs: list[list[int]] = []
    for number in sorted(r.number for r in reports):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    numbers = ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
    return f"slice{'s' if len(reports) > 1 else ''} {numbers}"


def _span(values: list[float]) -> str:
    low, high = round(min(values)), round(max(values))
    return f"{low}" if low == high else f"{low} to {high}"


def _table(reports: list[SliceReport]) -> str:
    head = "".join(f"<th{' class=text' if name == 'Status' else ''}>{name}</th>" for name in COLUMNS)
    body = "".join(_row(r) for r in reports if r.status != UNCHANGED)
    return f"<table><tr>{head}</tr>{body}</table>" if body else "<p>None.</p>"


def _objects(objects: Sequence[ObjectReport]) -> str:
    head = "".join(f"<th{' class=text' if name == 'Decision' else ''}>{name}</th>" for name in OBJECT_COLUMNS)
    body = "".join(
        f"<tr><td>{one.number}</td><td class=text>{one.decision}</td>"
        f"<td>{one.probability:.0%}</td><td>{_range(one)}</td><td>{one.row}, {one.column} in {one.slice}</td>"
        f"<td>{one.pixels}</td><td>{one.peak_hu:.0f} HU</td></tr>"
        for one in objects
    )
    return f"<table><tr>{head}</tr>{body}</table>" if body else "<p>None.</p>"


def _row(r: SliceReport) -> str:
    if r.status == PASSED:
        cells = ["not reduced", str(r.metal_pixels), "", "", "", ""]
    else:
        far = "" if r.far_change_hu is None else f"{r.far_change_hu:.1f} HU"
        error = "" if r.expected_error_hu is None else f"{r.expected_error_hu:.0f} HU"
        changes = [f"{r.mean_change_hu:.1f} HU", f"{r.max_change_hu:.0f} HU"]
        cells = [r.status, str(r.metal_pixels), *changes, far, error]
    status, *numbers = (_e(cell) for cell in cells)
    return f"<tr><td>{r.number}</td><td class=text>{status}</td>{''.join(f'<td>{cell}</td>' for cell in numbers)}</tr>"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _e(text: str) -> str:
    return html.escape(text, quote=True)
