"""Score all methods in both protocols and write docs/results.md: `python -m benchmarks.results SLICES`.

SLICES are clean slices with an `index.csv` that names their splits, as for `acdnet simulate`. Implants are put into the
slices of the splits `test` and `site_head`, in both protocols, and every method is scored on every pair. The page gets
the main tables, docs/results/ all of them as CSV, the README a summary, and the card of each model its scores. Images
are shown of phantoms only, since slices may not be published. A run that was stopped continues where it was; a method
is scored again when the stores, its weights or the code change. --page-only writes the page from existing scores.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from acdnet.evaluate.entrants import get_entrants
from acdnet.files import write_atomically
from acdnet.physics.simulate import PROTOCOLS
from acdnet.weights.card import card_path, read_card
from benchmarks import results_page
from benchmarks.harness import ROOT, put
from benchmarks.results_scores import (
    LABELS,
    SPLITS,
    Job,
    StoreScores,
    check_scored,
    code,
    jobs,
    locate,
    model_files,
    names_of,
    read_scores,
    run_acdnet,
)

SEED, PHANTOMS = 11, 4
SKIPPED = 4
"""Exit code of `acdnet simulate --skip-bad` if slices were skipped."""
README, DOCS = ROOT / "README.md", ROOT / "docs"


def main() -> None:
    """Simulate, score and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("slices", type=Path, help="clean slices with their splits")
    parser.add_argument("--folder", type=Path, default=Path("runs/results"), help="folder for stores and scores")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder for results.md, results/ and pictures/")
    parser.add_argument("--shapes", type=Path, help="metal shapes, used in addition to implants by formula")
    parser.add_argument("--exclude", default="", help="patients to leave out, as for `acdnet simulate`")
    parser.add_argument("--methods", default=",".join(LABELS), help="names of the table, or model files")
    parser.add_argument("--page-only", action="store_true", help="write the page from existing scores")
    given = parser.parse_args()
    names = names_of(given.methods)
    if not given.page_only:
        compute(given, names)
    write(given, names)


def compute(given: argparse.Namespace, names: Sequence[str]) -> None:
    """Simulate the stores, then score them, one job per core, all with the same code."""
    source = code()
    given.folder.mkdir(parents=True, exist_ok=True)
    simulate(given)
    waiting = jobs(given.folder, names)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(job.run, source): job for job in waiting}
        for done, future in enumerate(as_completed(running), 1):
            if future.exception():
                pool.shutdown(wait=False, cancel_futures=True)
            job, seconds = running[future], future.result()
            print(f"{done} of {len(running)}: {job.store.name}, {job.title}: {seconds:.0f} s", flush=True)


def simulate(given: argparse.Namespace) -> None:
    """Make the stores that are missing."""
    options = ["--pairs", "1", "--seed", str(SEED), "--sinograms", "--skip-bad"]
    options += ["--shapes", str(given.shapes)] if given.shapes else []
    options += ["--exclude", given.exclude] if given.exclude else []
    for protocol in PROTOCOLS:
        for split in SPLITS:
            store, where = given.folder / f"{protocol}-{split}", ["--protocol", protocol, "--split", split]
            run_acdnet("simulate", str(given.slices), str(store), *where, *options, accepted=(0, SKIPPED))
        few = ["--pairs", "1", "--slices", str(PHANTOMS), "--seed", str(SEED), "--sinograms"]
        run_acdnet("simulate", "phantom", str(given.folder / f"{protocol}-phantoms"), "--protocol", protocol, *few)


def write(given: argparse.Namespace, names: Sequence[str]) -> None:
    """Write page, tables, pictures, the table of the README and the scores of the cards."""
    waiting = jobs(given.folder, names)
    check_scored(waiting)
    methods = get_entrants([locate(name) for name in names])
    stores = {(p, s): read_scores(p, s, methods, waiting) for p in PROTOCOLS for s in SPLITS}
    pictures = {p: panels(waiting, p) for p in PROTOCOLS}
    page, tables = results_page.page(stores, command(given))
    (given.docs / "results").mkdir(parents=True, exist_ok=True)
    (given.docs / "pictures").mkdir(exist_ok=True)
    files = {given.docs / "results.md": page.encode()}
    files |= {given.docs / "results" / name: text.encode() for name, text in tables.items()}
    files |= {given.docs / "pictures" / f"results-{p}-panels.png": pictures[p] for p in PROTOCOLS}
    write_atomically(files)
    print(*(f"written: {path}" for path in files), sep="\n")
    if given.docs == DOCS:
        put(README, "results table", results_page.brief(stores))
        for name, path in model_files(names).items():
            write_card(path, card_scores(list(stores.values()), name))


def panels(waiting: Sequence[Job], protocol: str) -> bytes:
    """Return the picture of all methods on phantoms."""
    (job,) = (one for one in waiting if one.store.name == f"{protocol}-phantoms")
    return (job.folder / "panels.png").read_bytes()


def card_scores(stores: Sequence[StoreScores], label: str) -> dict[str, float]:
    """Return the scores of a model by split, protocol and metal size, as its card names them."""
    keys = {"window_psnr": "window dB", "rmse_soft_hu": "soft tissue RMSE HU"}
    return {
        f"{store.split}, {store.protocol}, metal {size}: {unit}": round(part.mean(label, key), 2)
        for store in stores
        for size, part in store.by_size().items()
        for key, unit in keys.items()
        if part.values(label, key)
    }


def write_card(model: Path, scores: dict[str, float]) -> None:
    """Replace the scores of a card on these splits."""
    if not scores:
        raise SystemExit(f"{model.name}: was not scored")
    card = read_card(model)
    kept = {key: value for key, value in card.scores.items() if not key.startswith(SPLITS)}
    write_atomically({card_path(model): replace(card, scores=kept | scores).to_json().encode()})
    print(f"written: {card_path(model)}")


def command(given: argparse.Namespace) -> str:
    """Return the command without the folders of a machine."""
    words = ["python -m benchmarks.results SLICES"]
    words += ["--shapes SHAPES"] if given.shapes else []
    words += [f"--exclude {given.exclude}"] if given.exclude else []
    shown = [Path(name).stem if "/" in name else name for name in names_of(given.methods)]
    words += [f"--methods {','.join(shown)}"] if shown != list(LABELS) else []
    return " ".join(words)


if __name__ == "__main__":
    main()
