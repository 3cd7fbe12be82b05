"""The tables of the paper, with all methods, in both protocols: `python -m benchmarks.results SLICES`.

SLICES are clean slices with an `index.csv` that names their splits, as `acdnet simulate` takes them. Implants are put
into the slices of the splits `test` and `site_head`, in both protocols; every method is scored on every pair. The
tables go into docs/results.md, the scores of each shipped model into its card, and the cards into docs/models.md.
Pictures that show images are made of phantoms, as slices may not be ours to publish. Methods that are scored already,
in --folder, are not scored again unless stores, code or their weights have changed; with --page-only not even then.
Models that are not shipped are given by file: --methods input,li,...,runs/mine/model.safetensors.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import acdnet
from acdnet.config import ACDNetConfig
from acdnet.evaluate.size_bins import Group, size_groups
from acdnet.files import sha256, write_atomically
from acdnet.methods.method import METHODS
from acdnet.weights.card import card_path, read_card
from acdnet.weights.shipped import find_model, shipped_models
from benchmarks import models
from benchmarks.join import join
from benchmarks.model import ROOT
from benchmarks.readme import put
from benchmarks.results_page import PROTOCOLS, SPLITS, brief, is_at_home, page

CLASSICAL = ("input", "li", "nmar", "tracefit")
PAIRS, SEED, PHANTOMS = 2, 11, 4
LESIONS = {"test": 32, "site_head": 8}
"""Pairs of the clinical protocol into which lesions are put: in images, without raw data, for methods for scans."""
SKIPPED = 4
"""What `acdnet simulate --skip-bad` returns where slices were left out."""
PAGE, README = ROOT / "docs" / "results.md", ROOT / "README.md"


def main() -> None:
    """Simulate, score, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("slices", type=Path, help="clean slices with their splits")
    parser.add_argument("--folder", type=Path, default=Path("runs/results"), help="where stores and scores are kept")
    parser.add_argument("--shapes", type=Path, help="metal shapes to be used beside implants by formula")
    parser.add_argument("--exclude", default="", help="patients to leave out, as `acdnet simulate` takes them")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="implants per slice")
    parser.add_argument("--page-only", action="store_true", help="write pages from the scores that are there")
    parser.add_argument("--methods", default=",".join((*CLASSICAL, *in_order())), help="as for acdnet evaluate")
    given = parser.parse_args()
    files = model_files(given.methods)  # before anything is begun: one of them may be missing
    given.folder.mkdir(parents=True, exist_ok=True)
    if not given.page_only:
        compute(given)
    check_complete(given.folder, given.methods)
    PAGE.write_text(page(given.folder, told(given), given.methods))
    put(README, "results table", brief(given.folder))
    print(f"written: {PAGE}, {README}")
    shipped = set(shipped_models().values())
    for name, path in files.items():
        if path in shipped:
            put_scores(path, card_scores(given.folder, "ACDNet" if name == "acdnet" else read_card(path).name))
    models.main()


def compute(given: argparse.Namespace) -> None:
    """Simulate, and score every store on a core of its own, all with the same code; then the phantoms for pictures."""
    source = code()
    stores = [(protocol, split) for split in SPLITS for protocol in PROTOCOLS]
    for protocol, split in stores:
        simulate(given, protocol, split)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        work = [pool.submit(score, given, protocol, split, source) for protocol, split in stores]
        work += [pool.submit(score_lesions, given, split, source) for split in SPLITS]
        for one in work:
            one.result()
    for protocol in PROTOCOLS:
        draw_phantoms(given, protocol)


def check_complete(folder: Path, methods: str) -> None:
    """Refuse to write anything unless stores, lesions and phantoms were scored with these very methods."""
    stores = {f"{protocol}-{split}": methods for protocol in PROTOCOLS for split in SPLITS}
    lesions = {f"{split}-lesions": for_scans(methods) for split in SPLITS if for_scans(methods)}
    phantoms = {f"{protocol}-phantoms": methods for protocol in PROTOCOLS}
    for name, asked in (stores | lesions | phantoms).items():
        wanted = [one.strip() for one in asked.split(",") if one.strip()]
        weights = sorted(sha256(path.read_bytes()) for path in model_files(asked).values())
        path = folder / f"{name}-scores" / "report.json"
        report = json.loads(path.read_text()) if path.is_file() else {"methods": []}
        if report["methods"] != wanted or sorted(report.get("weights", {}).values()) != weights:
            raise SystemExit(f"{name}: no scores of {', '.join(wanted)} as they are; run without --page-only")


def draw_phantoms(given: argparse.Namespace, protocol: str) -> None:
    """Let all methods work on a few phantoms, for pictures of images."""
    store, out = given.folder / f"{protocol}-phantoms", given.folder / f"{protocol}-phantoms-scores"
    few = ["--protocol", protocol, "--pairs", "1", "--slices", str(PHANTOMS), "--seed", str(SEED), "--sinograms"]
    _acdnet("simulate", "phantom", str(store), *few)
    shutil.rmtree(out, ignore_errors=True)
    _acdnet("evaluate", str(store), "--out", str(out), "--methods", given.methods, "--lesions", "0")


def in_order() -> list[str]:
    """Return the names of shipped models as tables have them: those that ACDNet is compared with first."""
    cards = {name: read_card(path) for name, path in shipped_models().items()}
    return sorted(cards, key=lambda name: (isinstance(cards[name].config, ACDNetConfig), name))


def put_scores(model: Path, scores: dict[str, float]) -> None:
    """Put scores into the card of a model, in place of those it had of these splits."""
    if not scores:
        raise SystemExit(f"{model.name}: was not scored")
    card = read_card(model)
    kept = {key: value for key, value in card.scores.items() if not key.startswith(SPLITS)}
    write_atomically({card_path(model): replace(card, scores=kept | scores).to_json().encode()})
    print(f"written: {card_path(model).name}")


def simulate(given: argparse.Namespace, protocol: str, split: str) -> None:
    """Make a store unless it is there."""
    store = given.folder / f"{protocol}-{split}"
    options = [
        "--protocol",
        protocol,
        "--pairs",
        str(given.pairs),
        "--split",
        split,
        "--seed",
        str(SEED),
        "--sinograms",
    ]
    options += ["--shapes", str(given.shapes)] if given.shapes else []
    options += ["--exclude", given.exclude] if given.exclude else []
    _acdnet("simulate", str(given.slices), str(store), *options, "--skip-bad", fine=(0, SKIPPED))


def score(given: argparse.Namespace, protocol: str, split: str, source: str) -> None:
    """Score all methods on a store."""
    evaluate(given, f"{protocol}-{split}", f"{protocol}-{split}", given.methods, source, lesions=0)


def score_lesions(given: argparse.Namespace, split: str, source: str) -> None:
    """Measure what methods for scans keep of lesions, in some pairs of the clinical protocol."""
    if methods := for_scans(given.methods):
        evaluate(given, f"clinical-{split}", f"{split}-lesions", methods, source, LESIONS[split])


def for_scans(methods: str) -> str:
    """Return those methods that are for images of scanners."""
    names = [name.strip() for name in methods.split(",") if name.strip()]
    return ",".join(name for name in names if name != "input" and is_at_home(name, "clinical"))


def evaluate(given: argparse.Namespace, store: str, name: str, methods: str, source: str, lesions: int) -> None:
    """Score methods on one core, those that were not scored yet as they are, and join all; beginnings are thrown away.

    A part is one evaluation; its `asked.json`, written last, says of what.
    """
    wanted = [one.strip() for one in methods.split(",") if one.strip()]
    files = model_files(methods)
    weights = {one: sha256(files[one].read_bytes()) if one in files else "" for one in wanted}
    pairs = {"code": source, "lesions": lesions, "store": sha256((given.folder / store / "manifest.json").read_bytes())}
    parts: list[Path] = []
    known: set[str] = set()
    for part in sorted(given.folder.glob(f"{name}-part-*")):
        path = part / "asked.json"
        asked = json.loads(path.read_text()) if path.exists() else {}
        if {key: asked.get(key) for key in pairs} != pairs:
            shutil.rmtree(part)
        elif here := {one for one in wanted if asked["weights"].get(one) == weights[one]} - known:
            parts.append(part)
            known |= here
    missing = [one for one in wanted if one not in known]
    if missing:
        part = given.folder / f"{name}-part-{time.time_ns()}"
        options = ["--out", str(part), "--methods", ",".join(missing), "--lesions", str(lesions)]
        options += ["--pairs", str(lesions)] if lesions else []
        _acdnet("evaluate", str(given.folder / store), *options, threads=1)
        if code() != source:
            raise SystemExit("the code has changed while it was scoring; begin again")
        asked = pairs | {"weights": {one: weights[one] for one in missing}}
        (part / "asked.json").write_text(json.dumps(asked))
        parts.append(part)
    out = given.folder / f"{name}-scores"
    shutil.rmtree(out, ignore_errors=True)
    join(wanted, parts, out)


def model_files(methods: str) -> dict[str, Path]:
    """Return the files of all models among the methods, shipped or not."""
    names = [name.strip() for name in methods.split(",") if name.strip()]
    return {name: find_model("default" if name == "acdnet" else name) for name in names if name not in METHODS}


def code() -> str:
    """Return a hash of all code that scores depend on."""
    source = Path(acdnet.__file__).parent
    files = sorted(path for path in source.rglob("*.py") if "viewer" not in path.parts)
    return sha256(b"".join(path.read_bytes() for path in files))


def card_scores(folder: Path, model: str) -> dict[str, float]:
    """Return the scores of a model by split, protocol and metal size, as its card names them."""
    scores = {}
    for split in SPLITS:
        for protocol in PROTOCOLS:
            report: dict[str, Any] = json.loads((folder / f"{protocol}-{split}-scores" / "report.json").read_text())
            rows = [row for row in report["scores"] if row["method"] == model]
            groups = size_groups([row["metal_pixels"] for row in rows])
            for group in (*groups, Group(0, sys.maxsize)):
                found = [row for row in rows if group.holds(row["metal_pixels"])]
                size = group.title if group in groups else "all sizes"
                for key, unit in (("window_psnr", "window dB"), ("rmse_soft_hu", "soft tissue RMSE HU")):
                    values = [row[key] for row in found if row[key] is not None]
                    if values:
                        scores[f"{split}, {protocol}, metal {size}: {unit}"] = round(fmean(values), 2)
    return scores


def _acdnet(*arguments: str, fine: tuple[int, ...] = (0,), threads: int = 0) -> None:
    limited = {"OMP_NUM_THREADS": str(threads)} if threads else {}
    command = [sys.executable, "-m", "acdnet", *arguments]
    code = subprocess.run(command, check=False, env=os.environ | limited).returncode
    if code not in fine:
        raise SystemExit(f"acdnet {arguments[0]} ended with {code}")


def told(given: argparse.Namespace) -> str:
    """Return the command, without the folders of a machine."""
    words = ["python -m benchmarks.results SLICES"]
    words += ["--shapes SHAPES"] if given.shapes else []
    words += [f"--exclude {given.exclude}"] if given.exclude else []
    words += [f"--pairs {given.pairs}"] if given.pairs != PAIRS else []
    names = [name.strip() for name in given.methods.split(",") if name.strip()]
    shown = [f"runs/{Path(name).parent.name}/{Path(name).name}" if "/" in name else name for name in names]
    return " ".join([*words, f"--methods {','.join(shown)}"])


if __name__ == "__main__":
    main()
