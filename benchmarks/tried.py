"""Runs of training side by side, into docs/training.md: `python -m benchmarks.tried RUN ...`.

A RUN is a folder of `acdnet train` with a validation. What the table says is read from checkpoint and scores.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from acdnet.train.checkpoint import load_checkpoint
from acdnet.train.config import from_dict
from benchmarks.model import ROOT
from benchmarks.readme import markdown, put

PAGE = ROOT / "docs" / "training.md"
COLUMNS = (
    "run", "begins with", "pairs", "batch", "rate", "omega", "patches", "minutes", "LI", "model", "LI", "model",
)  # fmt: skip


def rows(folder: Path) -> list[list[str]]:
    """Return a row for every validation set of a run: its settings, window PSNR and RMSE of soft tissue."""
    state, _ = load_checkpoint(folder)
    config = from_dict(state["config"])
    t = config.training
    with (folder / "validation.csv").open() as file:
        last = list(csv.DictReader(file))[-1]
    if int(last["step"]) != state["step"]:
        raise SystemExit(f"{folder}: was scored at step {last['step']} and has come to {state['step']}; let it finish")
    settings = [
        folder.name,
        Path(config.model.start_from).parent.name or config.model.start_from or "random weights",
        " and ".join(Path(name).name for name in config.data.train),
        f"{t.batch} x {t.patch}²",
        f"{t.rate:g}",
        f"{t.omega:g}",
        f"{state['step'] * t.batch:,}",
        f"{state['seconds'] / 60:.0f}",
    ]
    prefixes = [key.removesuffix("model dB") for key in last if key.endswith("model dB")]
    return [
        [
            *(settings if n == 0 else [""] * len(settings)),
            *(f"{float(last[prefix + who + ' dB']):.1f} dB" for who in ("li", "model")),
            *(f"{float(last[prefix + who + ' soft HU']):.1f} HU" for who in ("li", "model")),
        ]
        for n, prefix in enumerate(prefixes)
    ]


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    table = [row for folder in parser.parse_args().runs for row in rows(folder)]
    put(PAGE, "tried table", markdown(COLUMNS, table, texts=3))
    print(f"written: {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
