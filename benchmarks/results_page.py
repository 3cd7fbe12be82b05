"""The page, the CSV tables and the README table that `benchmarks.results` writes."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from typing import TypeAlias

from acdnet.evaluate.report import markdown as as_markdown
from acdnet.evaluate.tables import Sheet
from acdnet.methods.method import Method
from acdnet.physics.simulate import PROTOCOLS
from benchmarks import floors
from benchmarks.harness import Table
from benchmarks.results_scores import LABELS, SPLITS, StoreScores, is_at_home

Stores: TypeAlias = Mapping[tuple[str, str], StoreScores]
"""By protocol and split."""

NAMES = {"syndeeplesion": "benchmark protocol", "clinical": "clinical protocol"}
ELSEWHERE = "†"
"""Marks a network that was trained for the other protocol."""
NOTES = """How to read the tables:

- All methods are given the true metal mask. `acdnet reduce` has to find it first ([reduce.md](reduce.md)).
- The patients are new to all networks. The kinds and shapes of implants are those used in training, placed and scaled
  differently.
- In the benchmark protocol the truth is the image before projection. LI, NMAR, the trace fit, CNNMAR and DSCMAR end
  with FBP of measured rays, so noise and FBP errors stay in their scores; networks that end in the image learn to
  remove them. In the clinical protocol no method has raw data: sinograms are projected from the image.
- † marks a network in a protocol other than that of its last training run: what it loses comes from the change of
  protocol.
- Networks were trained for hours, those of the papers for days. Recipes and hours differ: those of ACDNet are the
  outcome of many runs, those of the others of few. `dudonet-s`, `dscmar-s` and `dudonet++-s` have a quarter of the
  published channels and saw 1-2 % of the published budget ([comparison.md](comparison.md), [lessons.md](lessons.md)).
  No ACDNet of the paper's size that starts from LI was trained.
- These patients were scored several times during development. `clinical-s` was replaced once after such a score, and
  `benchmark-full` and the dual-domain networks were trained further. Shipped models were chosen on validation pairs.
- `site_head` is a single patient: its scores and p-values say nothing about other heads.
- Scores of the convention `paper` stretch each image from its own range to 8 bits and serve only to compare with the
  paper's tables. That slices without metal stay unchanged is tested, not scored (F29 in [limits.md](limits.md))."""


def page(stores: Stores, command: str) -> tuple[str, dict[str, str]]:
    """Return the page, and the text of the CSV tables by file name."""
    sheets = {key: store.sheets() for key, store in stores.items()}
    required = floors.requirements(stores)
    tables = {f"{p}-{s}.csv": _csv(sheets[p, s].values()) for p, s in stores}
    requirement_sheet = Sheet("Requirements", "", list(floors.COLUMNS), required)
    tables["requirements.csv"] = _csv([requirement_sheet])
    parts = [
        "# Results",
        f"Written by `{command}`, which computed every number. [results/](results/) has all tables of `acdnet "
        "evaluate` as CSV, with soft tissue by metal size, regions, the paper's convention, needless changes and "
        "p-values. Research use only. Not a medical device.",
        NOTES,
        "## Summary",
        _summary(stores),
        "## Requirements",
        _requirements(required),
    ]
    for protocol in PROTOCOLS:
        found = sheets[protocol, "test"]
        parts += [f"## Test patients, {NAMES[protocol]}", _pairs(stores[protocol, "test"])]
        parts.append(_section(found["By metal size (window)"]))
    heads = sheets["clinical", "site_head"]
    parts += ["## Heads, clinical protocol", _pairs(stores["clinical", "site_head"])]
    parts.append(_section(heads["By metal size (window)"]))
    tables_of_scans = sheets["clinical", "test"]
    if "Lesion retention" in tables_of_scans:
        parts += ["## Lesions, test patients, clinical protocol", _section(tables_of_scans["Lesion retention"])]
    costs = _with_weights(tables_of_scans["Cost"], stores["clinical", "test"].methods)
    parts += ["## Cost", _section(costs)]
    parts.append("## Phantoms")
    parts += [f"![All methods, {NAMES[p]}](pictures/results-{p}-panels.png)" for p in PROTOCOLS]
    return "\n\n".join(parts) + "\n", tables


def brief(stores: Stores) -> str:
    """Return the README's table: test patients, every network in the protocol it was trained for."""
    columns = ("method", "benchmark: PSNR", "SSIM", "soft tissue", "scanner: PSNR", "SSIM", "soft tissue")
    rows = []
    for method in stores[PROTOCOLS[0], "test"].methods:
        cells: list[str] = []
        for protocol in PROTOCOLS:
            store = stores[protocol, "test"]
            cells += _headline(store, method.label) if is_at_home(method.training, protocol) else ["-"] * 3
        name = method.label if method.weights else method.name
        rows.append([LABELS.get(name, name), *cells])
    note = (
        f"Means over {_patients(stores[PROTOCOLS[0], 'test'])}: PSNR and SSIM of the window 0 to 0.5 / cm, RMSE of "
        "soft tissue, all without metal; each network in the protocol it was trained for."
    )
    return Table(columns, rows, [note]).markdown()


def _headline(store: StoreScores, label: str) -> list[str]:
    forms = {"window_psnr": "{:.2f} dB", "window_ssim": "{:.4f}", "rmse_soft_hu": "{:.1f} HU"}
    return [form.format(store.mean(label, key)) for key, form in forms.items()]


def _summary(stores: Stores) -> str:
    """Return the averages of all methods on all stores."""
    ordered = [stores[protocol, split] for split in SPLITS for protocol in PROTOCOLS]
    columns = ["method", *(f"{store.split} ({_patients(store)}), {store.protocol}" for store in ordered)]
    rows = []
    for one in ordered[0].methods:
        cells = []
        for store in ordered:
            mark = "" if is_at_home(one.training, store.protocol) else f" {ELSEWHERE}"
            cells.append(" / ".join(text.split()[0] for text in _headline(store, one.label)) + mark)
        rows.append([one.label, *cells])
    note = "PSNR in dB / SSIM of the window 0 to 0.5 / cm / RMSE of soft tissue in HU; without metal."
    return Table(columns, rows, [f"{note} {ELSEWHERE}: trained for the other protocol."]).markdown()


def _requirements(rows: Sequence[Sequence[str]]) -> str:
    """Count the requirements that are met, and list the others."""
    missed = [row for row in rows if row[-1] != "yes"]
    text = f"{len(rows) - len(missed)} of {len(rows)} are met ([requirements.csv](results/requirements.csv))."
    if not missed:
        return text
    return f"{text} The others:\n\n{Table(floors.COLUMNS, missed, texts=2).markdown()}"


def _section(sheet: Sheet) -> str:
    """Return a table and its note without its title."""
    note = sheet.note[:1].upper() + sheet.note[1:]
    return as_markdown(replace(sheet, note=note)).split("\n", 2)[2].strip()


def _with_weights(sheet: Sheet, methods: Sequence[Method]) -> Sheet:
    """Add the hashes of the weights to the table of costs."""
    rows = [[*row, f"{one.weights[:16] or '-'}"] for row, one in zip(sheet.rows, methods, strict=True)]
    note = (
        f"{sheet.note}. Slices were timed on one core with other jobs running; [comparison.md](comparison.md) and "
        "[reduce.md](reduce.md) have undisturbed times. Hours are wall-clock time on different machines"
    )
    return replace(sheet, columns=[*sheet.columns, "SHA-256"], rows=rows, note=note)


def _pairs(store: StoreScores) -> str:
    """Say how much a store holds, and how many slices were skipped."""
    entries, skipped = store.manifest["slices"], len(store.manifest["skipped"])
    pairs = sum(len(entry["pairs"]) for entry in entries)
    left_out = f"; {skipped} slices could not be used" if skipped else ""
    return f"{pairs} pairs of {len(entries)} slices of {_patients(store)}{left_out}."


def _patients(store: StoreScores) -> str:
    count = len({row["patient"] for row in store.rows})
    return f"{count} patients" if count > 1 else "one patient"


def _csv(sheets: Iterable[Sheet]) -> str:
    """Write tables below each other, as `acdnet evaluate` does."""
    text = StringIO()
    for sheet in sheets:
        csv.writer(text, lineterminator="\n").writerows([[sheet.title], sheet.columns, *sheet.rows, []])
    return text.getvalue()
