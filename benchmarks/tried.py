"""Runs of training side by side, into docs/tried.md: `python -m benchmarks.tried RUN ...`.

A RUN is a folder of `acdnet train` with a validation. What the table says is read from checkpoint and scores; rows of
other runs, which are no longer there, stay.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Mapping
from pathlib import Path

from acdnet.config import ACDNetConfig, NetworkConfig
from acdnet.train.checkpoint import load_checkpoint
from acdnet.train.config import UNSAID, from_dict
from acdnet.train.loss import MU_STAGE
from acdnet.train.recipes import DUAL
from benchmarks.model import ROOT
from benchmarks.readme import markdown, put

PAGE = ROOT / "docs" / "tried.md"
COLUMNS = (
    "run", "begins with", "pairs", "batch", "rate", "omega", "patches", "minutes", "LI", "model", "LI", "model",
)  # fmt: skip


def rows(folder: Path) -> list[list[str]]:
    """Return a row for every validation set of a run: its settings, window PSNR and RMSE of soft tissue."""
    state, _ = load_checkpoint(folder)
    config = from_dict(state["config"])
    t, kind = config.training, config.model.network().network
    with (folder / "validation.csv").open() as file:
        last = list(csv.DictReader(file))[-1]
    if int(last["step"]) != state["step"]:
        raise SystemExit(f"{folder}: was scored at step {last['step']} and has come to {state['step']}; let it finish")
    source = Path(config.model.start_from)
    named = source.parent.name if source.stem == "model" else source.stem
    values = f"{t.initial if kind == 'acdnet' else 'random'} values"
    begun = (named or values) + (", bfloat16" if config.model.bfloat16 else "")
    begun += f", {config.model.T} stages" if config.model.T != UNSAID else ""
    begun += f", awakened after stage {config.model.awaken}" if config.model.awaken else ""
    network = config.model.network()
    if isinstance(network, ACDNetConfig):
        begun += "".join(f", {said}" for said in (network.first, network.last) if said not in ("li", "none"))
    begun += f", lesions in {t.lesions:.0%}" if t.lesions else ""
    begun += f" with weight {t.lesion_weight:g}" if t.lesions and t.lesion_weight != 1 else ""
    begun += f", weaker artifacts in {t.faint:.0%}" if t.faint else ""
    begun += f", other bone in {t.bones:.0%}" if t.bones else ""
    begun += f", bone with weight {t.bone_weight:g}" if t.bone_weight != 1 else ""
    begun += f", mu {t.mu:g}" if t.mu != MU_STAGE else ""
    begun += ", relative errors" if t.relative else ""
    begun += ", fixed statistics" if t.fixed_norms else ""
    begun += ", Muon" if t.optimiser == "muon" else ""
    coarse = coarse_blocks(state["model"], config.model.network())
    examples = f"{t.batch} whole" if kind in DUAL else f"{t.batch} x {t.patch}²"
    examples += f", {t.together} of a pair" if t.together > 1 and kind == "acdnet" else ""
    settings = [
        folder.name,
        f"{begun}, {coarse} coarse blocks" if coarse else begun,
        " and ".join(Path(name).name for name in config.data.train),
        examples,
        f"{t.rate:g}",
        f"{t.omega:g}" if kind == "acdnet" else "-",
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


def coarse_blocks(weights: Mapping[str, object], network: NetworkConfig) -> int:
    """Count the blocks on coarser grids that a network really has, whatever its architecture means by now."""
    there = sum(bool(re.fullmatch(r"prox_last\.trunk\.\d+\.conv1\.weight", name)) for name in weights)
    return there - network.blocks if isinstance(network, ACDNetConfig) else 0


def kept(page: str, replaced: set[str]) -> list[list[str]]:
    """Return the rows of runs on the page that are not replaced; a row without a name belongs to the one before it."""
    text = page.split("<!-- tried table -->")[1].split("<!-- /tried table -->")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.strip().splitlines()[2:]]
    found, name = [], ""
    for row in cells:
        name = row[0] or name
        if name not in replaced:
            found.append(row)
    return found


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    new = [row for folder in parser.parse_args().runs for row in rows(folder)]
    table = [*kept(PAGE.read_text(), {row[0] for row in new}), *new]
    put(PAGE, "tried table", markdown(COLUMNS, table, texts=3))
    print(f"written: {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
