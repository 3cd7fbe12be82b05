"""Whether every network can learn a pair by heart: `python -m benchmarks.overfit FOLDER [NAME ...]`.

FOLDER is a store of `acdnet simulate` with sinograms, or a folder of the benchmark as published, of which the first
pair is taken. `examples/overfit.py` trains a network that has learnt nothing on it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from acdnet.config import NETWORKS
from benchmarks.model import ROOT

COLUMNS = ("network", "input", "LI", "network on its pair", "minutes")
SMALL = ("acdnet-s", "cnnmar", "dudonet-s", "dscmar-s", "dudonet++-s")
"""Those that take minutes."""


def overfit(folder: Path, name: str, patches: int = 0) -> tuple[float, float, float]:
    """Train a network on a pair; return the window PSNR of the input, of LI and of the network."""
    command = [sys.executable, str(ROOT / "examples" / "overfit.py"), str(folder), "--architecture", name]
    command += ["--patches", str(patches)] if patches else []
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (scores,) = re.findall(r"^input ([\d.]+) dB, LI ([\d.]+) dB", told, re.MULTILINE)
    (final,) = re.findall(r"^final ([\d.]+) dB", told, re.MULTILINE)
    return float(scores[0]), float(scores[1]), float(final)


def main() -> None:
    """Train all, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=[], choices=[[], *NETWORKS], help="all small ones, if unsaid")
    given = parser.parse_args()
    table = Table(*COLUMNS, title="window PSNR")
    for name in given.names or SMALL:
        start = time.perf_counter()
        scores = [f"{score:.1f} dB" for score in overfit(given.folder, name)]
        table.add_row(name, *scores, f"{(time.perf_counter() - start) / 60:.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
