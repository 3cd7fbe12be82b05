"""Time and memory of one training step of every learned method, and of one slice: `python -m benchmarks.rivals`.

Whole slices of 416 x 416 with sinograms of 640 x 641, one at a time, for the networks in both domains, of which those
called -s have a quarter of the channels; batches of 64 patches for CNNMAR (assumed), of 32 for ACDNet (as published).
Every network trains in a process of its own, whose largest memory is what the table gives; the rounds of all take
turns, and medians are told. Batches are made before the clock starts. "A slice" is Table 2 of the paper on this
machine: from raw data to the image, which depends on sizes alone, so that weights are random.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from acdnet.config import NETWORKS

ROUNDS, STEPS = 2, 2
COLUMNS = ("network", "parameters", "examples a step", "seconds a step", "memory", "seconds a slice")
BATCH = {"acdnet": 32, "cnnmar": 64}
"""Patches in a batch; the others take one slice."""


@dataclass(frozen=True)
class Row:
    """One network."""

    name: str
    parameters: int
    batch: int
    seconds: float
    gigabytes: float
    slice_seconds: float

    def cells(self) -> tuple[str, ...]:
        what = f"{self.batch} patches" if self.batch > 1 else "1 slice"
        step = (what, f"{self.seconds:.2f}", f"{self.gigabytes:.1f} GB")
        return self.name, f"{self.parameters:,}", *step, f"{self.slice_seconds:.2f}"


def measure(names: list[str], rounds: int = ROUNDS, size: int = 416, slices: int = 4) -> list[Row]:
    """Run every network in turns."""
    found: dict[str, list[tuple[list[float], float, float]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        _simulate(store, size, slices)
        for name in track([name for _ in range(rounds) for name in names], "training", transient=True):
            command = [sys.executable, "-m", "benchmarks.rivals", "--one", name, "--store", str(store)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found[name].append(json.loads(done.stdout.splitlines()[-1]))
    return [
        Row(
            name,
            NETWORKS[name].count_parameters(),
            BATCH.get(NETWORKS[name].network, 1),
            statistics.median(second for times, *_ in runs for second in times),
            max(memory for _, memory, _ in runs),
            statistics.median(slice_seconds for *_, slice_seconds in runs),
        )
        for name, runs in found.items()
    ]


def _simulate(store: Path, size: int, slices: int) -> None:
    from acdnet.data.build import build
    from acdnet.data.recipe import Recipe
    from acdnet.data.sources import open_source

    recipe = Recipe(pairs=1, size=size, sinograms=True)
    for _ in build(open_source("phantom", slices), recipe, store, 1, False):
        pass


def one(name: str, store: Path) -> tuple[list[float], float, float]:
    """Take a few steps; return their times without the first, the largest memory of them in GB, and a slice's time."""
    from acdnet.fast.malloc import keep_freed_memory
    from acdnet.train.config import from_dict
    from acdnet.train.launch import make_fabric
    from acdnet.train.loop import Trainer
    from acdnet.weights.save import save_model

    keep_freed_memory()
    with tempfile.TemporaryDirectory() as folder:
        batch = BATCH.get(NETWORKS[name].network, 1)
        given = {
            "model": {"architecture": name},
            "data": {"train": [str(store)], "train_splits": []},
            "training": {"patches": 10**6, "batch": batch},
            "run": {"folder": folder, "device": "cpu"},
        }
        config = from_dict(given)
        trainer = Trainer(config, make_fabric(config))
        t = config.training
        batches = trainer.batches(trainer.task.examples(trainer.train, trainer.config, t.seed, t.focus))
        drawn = [next(batches) for _ in range(STEPS + 1)]
        batches.close()
        times = []
        for examples in drawn:
            start = time.perf_counter()
            trainer.learn(examples)
            times.append(time.perf_counter() - start)
        told = Path("/proc/self/status").read_text()  # the peak since the start; that of getrusage is inherited
        memory = int(told.split("VmHWM:")[1].split()[0]) * 1024 / 1e9
        path = Path(folder) / "slice.safetensors"
        save_model(trainer.raw, path, name=name, summary=name, architecture=name)
        return times[1:], memory, seconds_of_slice(path, store)


def seconds_of_slice(model: Path, store: Path) -> float:
    """Return how long a slice takes, from raw data on; the second time, when all is compiled."""
    from acdnet.data.pairs import open_pairs
    from acdnet.evaluate.methods import contestant
    from acdnet.evaluate.run import Evaluation, evaluate

    evaluation = Evaluation([contestant(str(model))])
    for _ in evaluate(open_pairs(store), evaluation, count=2, show=0):
        pass
    return evaluation.results[-1].seconds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(NETWORKS), help="architectures; all without it")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one, given.store)))
        return
    rows = [row.cells() for row in measure(given.names)]
    table = Table(*COLUMNS)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
