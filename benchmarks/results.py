"""The tables of the paper, with all methods, in both protocols: `python -m benchmarks.results SLICES`.

SLICES are clean slices with an `index.csv` that names their splits, as `acdnet simulate` takes them. Implants are put
into the slices of the splits `test` and `site_head`, in both protocols; every method is scored on every pair. The
tables go into docs/results.md, the pictures beside it, the scores of each shipped model into its card. What is
simulated and scored already, in --folder, is not done again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from acdnet.baselines.method import METHODS
from acdnet.evaluate.groups import Group, size_groups
from acdnet.files import sha256, write_atomically
from acdnet.weights.card import card_path, read_card
from acdnet.weights.shipped import find_model, shipped_models
from benchmarks.model import ROOT

PROTOCOLS = ("syndeeplesion", "clinical")
SPLITS = ("test", "site_head")
CLASSICAL = ("input", "li", "nmar", "tracefit")
PAIRS, SEED, LESIONS = 2, 11, 20
PAGE, PICTURES = ROOT / "docs" / "results.md", ROOT / "docs" / "pictures"
TITLES = {
    "syndeeplesion": "the benchmark's protocol (`syndeeplesion`)",
    "clinical": "the clinical protocol (`clinical`)",
    "test": "Patients nobody trained on",
    "site_head": "Heads, a site nobody trained on",
}


def main() -> None:
    """Simulate, score, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("slices", type=Path, help="clean slices with their splits")
    parser.add_argument("--folder", type=Path, default=Path("runs/results"), help="where stores and scores are kept")
    parser.add_argument("--shapes", type=Path, help="metal shapes to be used beside implants by formula")
    parser.add_argument("--exclude", default="", help="patients to leave out, as `acdnet simulate` takes them")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="implants per slice")
    parser.add_argument("--methods", default=",".join((*CLASSICAL, *shipped_models())), help="as for acdnet evaluate")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for split in SPLITS:
        for protocol in PROTOCOLS:
            simulate(given, protocol, split)
            score(given, protocol, split)
    PAGE.write_text(page(given.folder))
    print(f"written: {PAGE.relative_to(ROOT)}")
    for name, path in shipped_models().items():
        card = read_card(path)
        if name not in model_files(given.methods):
            continue
        kept = {key: value for key, value in card.scores.items() if not key.startswith(SPLITS)}
        new = replace(card, scores=kept | card_scores(given.folder, name))
        write_atomically({card_path(path): new.to_json().encode()})
        print(f"written: {card_path(path).name}")


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
    _acdnet("simulate", str(given.slices), str(store), *options, "--skip-bad")


def score(given: argparse.Namespace, protocol: str, split: str) -> None:
    """Score all methods on a store unless that was done; beginnings of it are thrown away."""
    out = given.folder / f"{protocol}-{split}-scores"
    asked = {
        "methods": given.methods,
        "weights": {name: sha256(path.read_bytes()) for name, path in model_files(given.methods).items()},
    }
    asked |= {"store": sha256((given.folder / f"{protocol}-{split}" / "manifest.json").read_bytes())}
    known = given.folder / f"{protocol}-{split}-asked.json"
    if known.exists() and json.loads(known.read_text()) == asked and (out / "report.json").exists():
        return
    known.unlink(missing_ok=True)
    shutil.rmtree(out, ignore_errors=True)
    options = ["--out", str(out), "--methods", given.methods]
    # lesions are put into images, without raw data
    options += ["--lesions", str(LESIONS if protocol == "clinical" else 0)]
    _acdnet("evaluate", str(given.folder / f"{protocol}-{split}"), *options)
    known.write_text(json.dumps(asked))


def model_files(methods: str) -> dict[str, Path]:
    """Return the files of all models among the methods, shipped or not."""
    names = [name.strip() for name in methods.split(",")]
    return {name: find_model(name) for name in names if name not in METHODS}


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


def _acdnet(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "acdnet", *arguments], check=True)


def page(folder: Path) -> str:
    """Return the page: tables as they were written, and pictures."""
    parts = [
        "# Results",
        "Written by `python -m benchmarks.results`; every number was computed by it. Research use only. Not a medical "
        "device.",
        "Models ending in -s are small versions for CPUs, and all were trained for hours where the papers trained for "
        "days; [models.md](models.md) and [rivals.md](rivals.md) say what they are. In the clinical protocol no method "
        "has raw data: sinograms are projected from the image. `paper` scores are only for comparing with the paper's "
        "tables.",
    ]
    for split in SPLITS:
        for protocol in PROTOCOLS:
            scores = folder / f"{protocol}-{split}-scores"
            report: dict[str, Any] = json.loads((scores / "report.json").read_text())
            picture = PICTURES / f"results-{protocol}-{split}.png"
            shutil.copy(scores / "panels.png", picture)
            tables = (scores / "tables.md").read_text().split("\n\n", 2)[2].replace("## ", "### ")
            parts += [f"## {TITLES[split]}, {TITLES[protocol]}", f"{report['pairs']} pairs.", tables.strip()]
            parts.append(f"![methods side by side](pictures/{picture.name})")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
