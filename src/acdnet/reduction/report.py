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
from acdnet.reduction.record import PASSED, REDUCED, UNCHANGED, SliceRecord
from acdnet.scans.scan import ScanSlice

if TYPE_CHECKING:
    from acdnet.reduction.job import Finished

FORMAT = 1
NOTICE = "Research use only. Not a medical device. Not for diagnosis. Always look at the original images too."
ADVICE = (
    "The original series is untouched and must stay the reference.",
    "What a strong artifact hides can be lost; look at the difference images for anatomy that was taken away.",
    "Trust the image least beside metal and where the expected error is high.",
)
STYLE = """
body { background: #101418; color: #e8eaed; font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1180px;
  padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem }
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
        "source": finished.about,
        "counts": {name: status.get(name, 0) for name in (REDUCED, UNCHANGED, PASSED)},
        "skipped_files": finished.skipped,
        "warnings": finished.warnings,
        "slices": [record.to_dict() for record in finished.records],
    }


def _page(finished: Finished, data: dict[str, Any], pictures: list[tuple[Look, bytes]]) -> str:
    counts = data["counts"]
    rows = [("method", finished.label), *finished.about.items()]
    rows += [(f"slices {name}", str(count)) for name, count in counts.items()]
    rows += [(f"skipped: {reason}", str(count)) for reason, count in finished.skipped.items()]
    facts = "".join(f"<tr><td>{_e(name)}</td><td class=text>{_e(value)}</td></tr>" for name, value in rows)
    cautions = [*finished.warnings, *_cautions(finished.records)]
    careful = "".join(f"<li class=warn>{_e(text)}</li>" for text in cautions)
    careful += "".join(f"<li>{_e(text)}</li>" for text in ADVICE)
    shown = "".join(
        f"<h2>Slice {look.number + 1}</h2><img alt='before, after, difference and expected error' "
        f"src='data:image/png;base64,{base64.b64encode(picture).decode()}'>"
        for look, picture in pictures
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Metal artifact reduction</title>"
        f"<style>{STYLE}</style>"
        f"<h1>Metal artifact reduction</h1><p class=notice>{_e(NOTICE)}</p><table>{facts}</table>"
        f"<h2>Where to be careful</h2><ul>{careful}</ul>"
        f"{shown and '<h2>The slices that changed most</h2>'}{shown}"
        f"<h2>All slices with metal</h2>{_table(finished.records)}"
        f"<footer>acdnet {_e(__version__)} &middot; {_e(NOTICE)}</footer></html>"
    )


def _cautions(records: list[SliceRecord]) -> list[str]:
    """Sum up what slices warn of."""
    found = [f"slice {r.number} was left as it came: {r.reason}" for r in records if r.status == PASSED]
    found += [f"slice {r.number}: {text}" for r in records for text in r.warnings]
    if saturated := sum(r.saturated for r in records):
        found.append(f"in {saturated} slices the metal is cut off at the largest value the images can hold")
    return found


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
