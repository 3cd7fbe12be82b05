"""The tables of the paper, with all methods, in both protocols: `python -m benchmarks.results SLICES`.

SLICES are clean slices with an `index.csv` that names their splits, as `acdnet simulate` takes them. Implants are put
into the slices of the splits `test` and `site_head`, in both protocols; every method is scored on every pair. The
tables go into docs/results.md, the pictures beside it, the scores of each shipped model into its card, and the cards
into docs/models.md. What is simulated and scored already, in --folder, is not done again unless data, weights or code
have changed. Models that are not shipped are given by file: --methods input,li,...,runs/dudonet-s/model.safetensors.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import acdnet
from acdnet.baselines.method import METHODS
from acdnet.config import ACDNetConfig
from acdnet.evaluate.groups import Group, size_groups
from acdnet.files import sha256, write_atomically
from acdnet.weights.card import card_path, read_card
from acdnet.weights.shipped import find_model, shipped_models
from benchmarks import models
from benchmarks.model import ROOT

PROTOCOLS = ("syndeeplesion", "clinical")
SPLITS = ("test", "site_head")
CLASSICAL = ("input", "li", "nmar", "tracefit")
PAIRS, SEED, LESIONS = 2, 11, 32
SKIPPED = 4
"""What `acdnet simulate --skip-bad` returns where slices were left out."""
PAGE, PICTURES = ROOT / "docs" / "results.md", ROOT / "docs" / "pictures"
TITLES = {
    "syndeeplesion": "the benchmark's protocol (`syndeeplesion`)",
    "clinical": "the clinical protocol (`clinical`)",
    "test": "Patients nobody trained on",
    "site_head": "Heads, a site nobody trained on",
}

HEAD = """Compare with care:

- `benchmark-s` and `clinical-s` are small ACDNets with coarse blocks that begin with a trace fit, a classical method
  of this project (`TRACEFIT`), where the paper's ACDNet begins with LI. What that alone gives stands in its own row.
  The clinical one gives back what it took from rays beside the metal ([maths.md](maths.md)).
- `benchmark-s-li` is such a network that begins with LI, as the rivals do.
- `benchmark-full` has the paper's sizes: ten stages, 33 channels, no coarse blocks. It begins with a trace fit, too.
- `dudonet-s`, `dscmar-s` and `dudonet++-s` have a quarter of the published channels; the published sizes were not
  trained, and what they cost stands in [rivals.md](rivals.md). CNNMAR has its published size.
- All were trained for hours where the papers trained for days, ACDNet longer than the others: the tables of cost say
  how long, on what, and in which protocol. Methods that learnt in one protocol are shown in the other one, too.
- In the clinical protocol no method has raw data: sinograms are projected from the image.
- Seconds are those of one core, while others are at work.
- `paper` scores are only for comparing with the paper's tables."""


def main() -> None:
    """Simulate, score, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("slices", type=Path, help="clean slices with their splits")
    parser.add_argument("--folder", type=Path, default=Path("runs/results"), help="where stores and scores are kept")
    parser.add_argument("--shapes", type=Path, help="metal shapes to be used beside implants by formula")
    parser.add_argument("--exclude", default="", help="patients to leave out, as `acdnet simulate` takes them")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="implants per slice")
    parser.add_argument("--methods", default=",".join((*CLASSICAL, *in_order())), help="as for acdnet evaluate")
    given = parser.parse_args()
    files = model_files(given.methods)  # before anything is begun: one of them may be missing
    given.folder.mkdir(parents=True, exist_ok=True)
    stores = [(protocol, split) for split in SPLITS for protocol in PROTOCOLS]
    for protocol, split in stores:
        simulate(given, protocol, split)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda store: score(given, *store), stores))
    PAGE.write_text(page(given.folder, told(given)))
    print(f"written: {PAGE}")
    shipped = set(shipped_models().values())
    for name, path in files.items():
        if path in shipped:
            put_scores(path, card_scores(given.folder, "ACDNet" if name == "acdnet" else read_card(path).name))
    models.main()


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


def score(given: argparse.Namespace, protocol: str, split: str) -> None:
    """Score all methods on a store, on one core, unless that was done; beginnings of it are thrown away."""
    out = given.folder / f"{protocol}-{split}-scores"
    asked = {
        "methods": given.methods,
        "weights": {name: sha256(path.read_bytes()) for name, path in model_files(given.methods).items()},
    }
    asked |= {"code": code(), "lesions": LESIONS}
    asked |= {"store": sha256((given.folder / f"{protocol}-{split}" / "manifest.json").read_bytes())}
    known = given.folder / f"{protocol}-{split}-asked.json"
    if known.exists() and json.loads(known.read_text()) == asked and (out / "report.json").exists():
        return
    known.unlink(missing_ok=True)
    shutil.rmtree(out, ignore_errors=True)
    options = ["--out", str(out), "--methods", given.methods]
    # lesions are put into images, without raw data
    options += ["--lesions", str(LESIONS if protocol == "clinical" else 0)]
    _acdnet("evaluate", str(given.folder / f"{protocol}-{split}"), *options, threads=1)
    known.write_text(json.dumps(asked))


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


def page(folder: Path, command: str) -> str:
    """Return the page: tables as they were written, and pictures."""
    parts = [
        "# Results",
        f"Written by `{command}`; every number was computed by it. Research use only. Not a medical device.",
        HEAD,
    ]
    for split in SPLITS:
        for protocol in PROTOCOLS:
            scores = folder / f"{protocol}-{split}-scores"
            report: dict[str, Any] = json.loads((scores / "report.json").read_text())
            tables = (scores / "tables.md").read_text()
            tables = tables[tables.index("## ") :].replace("## ", "### ")
            parts += [f"## {TITLES[split]}, {TITLES[protocol]}", f"{report['pairs']} pairs.", tables.strip()]
            for what, title in (("panels", "methods side by side"), ("sizes", "scores against the size of the metal")):
                picture = PICTURES / f"results-{protocol}-{split}-{what}.png"
                shutil.copy(scores / f"{what}.png", picture)
                parts.append(f"![{title}](pictures/{picture.name})")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
