"""The scores behind `benchmarks.results`: computed by `acdnet evaluate`, one job per network and store."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import acdnet
from acdnet.data.store import MANIFEST
from acdnet.evaluate.lesions import Retention
from acdnet.evaluate.metrics import Scores
from acdnet.evaluate.off_target import TISSUES, Change
from acdnet.evaluate.run import AREAS, CaseScores, Evaluation
from acdnet.evaluate.size_bins import size_groups
from acdnet.evaluate.tables import Sheet, all_tables
from acdnet.files import sha256
from acdnet.methods.method import Method
from acdnet.methods.registry import CLASSICAL, INPUT
from acdnet.physics.simulate import PROTOCOLS
from acdnet.weights.card import Training, read_card
from acdnet.weights.shipped import find_model
from benchmarks.harness import ROOT

SPLITS = ("test", "site_head")
LESIONS = {"test": 32, "site_head": 8}
"""Pairs of the clinical protocol that lesions are put into."""
LABELS = {
    "input": "as scanned",
    "li": "LI",
    "nmar": "NMAR",
    "tracefit": "trace fit (ours, classical)",
    "cnnmar": "CNNMAR",
    "dudonet-s": "DuDoNet, a quarter of the channels",
    "dscmar-s": "DSCMAR, a quarter of the channels",
    "dudonet++-s": "DuDoNet++, a quarter of the channels",
    "benchmark-s-hour": "ACDNet, small, from LI, one hour of training (`benchmark-s-hour`)",
    "benchmark-s-li": "ACDNet, small, from LI like the paper's (`benchmark-s-li`)",
    "benchmark-s": "ACDNet, small, from the trace fit (`benchmark-s`)",
    "benchmark-full": "ACDNet, the paper's size, from the trace fit (`benchmark-full`)",
    "clinical-s": "ACDNet, small, from the trace fit, for scans (`clinical-s`)",
}
"""All methods in the order of the tables, with their descriptions in the README."""
REDUCED = ("dudonet-s", "dscmar-s", "dudonet++-s")
"""Networks with a quarter of the published channels."""
COMPARED = ROOT / "benchmarks" / "models"
"""Models that are not part of the package."""
CODE = "code.txt"
"""In a folder of scores, written last: the hash of the code that computed them."""


def names_of(methods: str) -> list[str]:
    """Split names at commas."""
    return [name.strip() for name in methods.split(",") if name.strip()]


def locate(name: str) -> str:
    """Return a method as `acdnet evaluate` takes it: a name, or the file of a model that is not shipped."""
    path = COMPARED / f"{name}.safetensors"
    return str(path) if path.is_file() else name


def model_files(names: Sequence[str]) -> dict[str, Path]:
    """Return the weights files of all networks by their names in tables."""
    paths = [find_model(locate(name)) for name in names if name not in (INPUT, *CLASSICAL)]
    return {read_card(path).name: path for path in paths}


def is_at_home(training: Training | None, protocol: str) -> bool:
    """Tell whether a method suits a protocol: one without training suits all, a network the one it was trained for."""
    return training is None or protocol == ("syndeeplesion" if "syndeeplesion" in training.protocol else "clinical")


def code() -> str:
    """Return a hash of all code that scores depend on."""
    source = Path(acdnet.__file__).parent
    files = sorted(path for path in source.rglob("*.py") if "viewer" not in path.parts)
    return sha256(b"".join(path.read_bytes() for path in files))


def run_acdnet(*arguments: str, accepted: tuple[int, ...] = (0,), one_core: bool = False) -> None:
    """Run a command of acdnet; its tables are not shown."""
    limited = {"OMP_NUM_THREADS": "1"} if one_core else {}
    command = [sys.executable, "-m", "acdnet", *arguments]
    quiet = subprocess.DEVNULL if arguments[0] == "evaluate" else None
    ended = subprocess.run(command, check=False, stdout=quiet, env=os.environ | limited).returncode
    if ended not in accepted:
        raise SystemExit(f"acdnet {' '.join(arguments)} ended with {ended}")


@dataclass(frozen=True)
class Job:
    """Methods that are scored together on a store."""

    store: Path
    methods: tuple[str, ...]
    lesions: int = 0

    @property
    def title(self) -> str:
        return ", ".join(Path(name).stem for name in self.methods)

    @property
    def folder(self) -> Path:
        """The folder of the scores; another one for another store, other weights or another number of lesions."""
        weights = {name: sha256(path.read_bytes()) for name, path in model_files(self.methods).items()}
        manifest = sha256((self.store / MANIFEST).read_bytes())
        key = sha256(json.dumps([manifest, self.title, weights, self.lesions]).encode())
        return self.store.parent / "scores" / f"{self.store.name}-{Path(self.methods[0]).stem}-{key[:12]}"

    def run(self, source: str) -> float:
        """Score the methods unless this code has done so; return the seconds that took."""
        start, out = time.perf_counter(), self.folder
        if scored_by(out) == source:
            return 0.0
        unfinished = out.with_name(f"{out.name}.part")
        for left in (out, unfinished):
            shutil.rmtree(left, ignore_errors=True)
        options = ["--out", str(unfinished), "--methods", ",".join(self.methods), "--lesions", str(self.lesions)]
        run_acdnet("evaluate", str(self.store), *options, one_core=True)
        if code() != source:
            raise SystemExit("the code changed during scoring; run the command again")
        (unfinished / CODE).write_text(source)
        unfinished.rename(out)
        return time.perf_counter() - start

    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "report.json").read_text())
        return found


def scored_by(folder: Path) -> str:
    """Return the hash of the code that computed the scores in a folder; empty if there are none."""
    return (folder / CODE).read_text() if (folder / CODE).is_file() else ""


def jobs(folder: Path, names: Sequence[str]) -> list[Job]:
    """Return all jobs: per store one for the classical methods and one per network; one for the phantoms."""
    networks = {name: path for name in names for path in model_files([name]).values()}
    classical = tuple(name for name in names if name not in networks)
    groups = [group for group in (classical, *((name,) for name in networks)) if group]
    made = []
    for split in SPLITS:
        for protocol in PROTOCOLS:
            for group in groups:
                suits = all(is_at_home(read_card(networks[n]).training, protocol) for n in group if n in networks)
                lesions = LESIONS[split] if protocol == "clinical" and suits else 0
                made.append(Job(folder / f"{protocol}-{split}", tuple(map(locate, group)), lesions))
    every = tuple(map(locate, names))
    return [*made, *(Job(folder / f"{protocol}-phantoms", every) for protocol in PROTOCOLS)]


def check_scored(waiting: Sequence[Job]) -> None:
    """Refuse to go on unless all jobs are done, with the same code."""
    for job in waiting:
        if not (job.store / MANIFEST).is_file() or not scored_by(job.folder):
            raise SystemExit(f"{job.store.name}, {job.title}: not scored; run without --page-only")
    if len({scored_by(job.folder) for job in waiting}) > 1:
        raise SystemExit("the scores are of different versions of the code; run without --page-only")


@dataclass(frozen=True)
class StoreScores:
    """All scores of a store: rows of `acdnet evaluate`, and what was kept of lesions."""

    protocol: str
    split: str
    methods: Sequence[Method]
    rows: Sequence[dict[str, Any]]
    lesions: Sequence[dict[str, Any]] = ()
    manifest: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"{self.split}, {self.protocol}"

    def of(self, method: str) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["method"] == method]

    def values(self, method: str, key: str) -> list[float]:
        """Return all scores of a method that are numbers."""
        return [row[key] for row in self.of(method) if row.get(key) is not None]

    def mean(self, method: str, key: str) -> float:
        return fmean(self.values(method, key))

    def by_size(self) -> dict[str, StoreScores]:
        """Return the scores by metal size, and those of all sizes."""
        groups = size_groups([row["metal_pixels"] for row in self.rows])
        parts = {g.title: replace(self, rows=[r for r in self.rows if g.holds(r["metal_pixels"])]) for g in groups}
        return parts | {"all sizes": self}

    def sheets(self) -> dict[str, Sheet]:
        """Return all tables of `acdnet evaluate` by title."""
        evaluation = Evaluation(list(self.methods), [case_scores(row) for row in self.rows])
        kept = [Retention(**one) for one in self.lesions]
        return {sheet.title: sheet for sheet in all_tables(evaluation, kept)}


def case_scores(row: dict[str, Any]) -> CaseScores:
    """Read a row of single scores."""

    def number(key: str) -> float:
        return math.nan if row[key] is None else float(row[key])

    rmse, mae = ({area: number(f"{kind}_{area}_hu") for area in AREAS} for kind in ("rmse", "mae"))
    there = [tissue for tissue in TISSUES if f"needless_{tissue}_hu" in row]
    changes = {t: Change(number(f"needless_{t}_hu"), int(row[f"needless_{t}_pixels"])) for t in there}
    psnr_ssim = (number("window_psnr"), number("window_ssim"), number("paper_psnr"), number("paper_ssim"))
    scores = Scores(*psnr_ssim, rmse, mae)
    return CaseScores(
        row["case"], row["metal_pixels"], row["method"], number("seconds"), scores, changes, row["patient"]
    )


def read_scores(protocol: str, split: str, methods: Sequence[Method], waiting: Sequence[Job]) -> StoreScores:
    """Read what all jobs found on a store."""
    store = f"{protocol}-{split}"
    done = [job for job in waiting if job.store.name == store]
    reports = [job.report() for job in done]
    rows = [row for report in reports for row in report["scores"]]
    lesions = [one for report in reports for one in report["lesions"]]
    manifest = json.loads((done[0].store / MANIFEST).read_text())
    return StoreScores(protocol, split, methods, rows, lesions, manifest)
