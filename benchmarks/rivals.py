"""Time and memory of one training step of every learned method, and of one slice: `python -m benchmarks.rivals`.

Dual-domain networks take whole slices of 416 x 416 with sinograms of 640 x 641, one at a time; those called -s have a
quarter of the channels. CNNMAR takes batches of 64 patches (assumed), ACDNet of 32 (as published). Every network trains
in a process of its own, whose peak memory is given; networks alternate, and the medians are given. Batches are made
before the clock starts. "A slice" is Table 2 of the paper on this machine, from raw data to the image; this depends on
sizes alone, so the weights are random.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from pathlib import Path

from rich.progress import track

from acdnet.config import NETWORKS
from acdnet.data.build import build
from acdnet.data.pairs import open_pairs
from acdnet.data.recipe import Recipe
from acdnet.data.sources import open_source
from acdnet.evaluate.case import Case
from acdnet.fast.malloc import keep_freed_memory
from acdnet.methods.registry import network_method
from acdnet.train.config import from_dict
from acdnet.train.launch import make_fabric
from acdnet.train.loop import Trainer
from benchmarks.harness import Table, alternate, main, megabytes, run_python

ROUNDS, STEPS = 2, 2
COLUMNS = ("network", "parameters", "examples a step", "seconds a step", "memory", "seconds a slice")
ONE = "import sys; from benchmarks.rivals import print_costs; print_costs(*sys.argv[1:])"
BATCH = {"acdnet": 32, "cnnmar": 64}
"""Patches in a batch; the others take one slice."""


def measure(names: str = ",".join(NETWORKS), rounds: int = ROUNDS, size: int = 416, slices: int = 4) -> Table:
    """Measure networks in turn."""
    chosen = names.split(",")
    found: dict[str, list[list[float]]] = {name: [] for name in chosen}
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        list(build(open_source("phantom", slices), Recipe(pairs=1, size=size, sinograms=True), store))
        for name in track(chosen * rounds, "training", transient=True):
            printed = run_python("-c", ONE, name, str(store))
            found[name].append(json.loads(printed))
    rows = []
    for name, runs in found.items():
        steps, memory, slice_seconds = zip(*runs, strict=True)
        batch = BATCH.get(NETWORKS[name].network, 1)
        step = f"{batch} patches" if batch > 1 else "1 slice", f"{statistics.median(steps):.2f}"
        costs = f"{max(memory):.1f} GB", f"{statistics.median(slice_seconds):.2f}"
        rows.append([name, f"{NETWORKS[name].count_parameters():,}", *step, *costs])
    return Table(COLUMNS, rows)


def print_costs(name: str, store: str) -> None:
    """Take a few steps; print the seconds of a step after the first, the peak memory in GB, and a slice's seconds."""
    keep_freed_memory()
    with tempfile.TemporaryDirectory() as folder:
        given = {
            "model": {"architecture": name},
            "data": {"train": [store], "train_splits": []},
            "training": {"patches": 10**6, "batch": BATCH.get(NETWORKS[name].network, 1)},
            "run": {"folder": folder, "device": "cpu"},
        }
        config = from_dict(given)
        trainer = Trainer(config, make_fabric(config))
    t = config.training
    batches = trainer.batches(trainer.task.examples(trainer.train, trainer.config, t.seed, t.hard_patch_share))
    drawn = [next(batches) for _ in range(STEPS + 1)]
    batches.close()
    times = []
    for examples in drawn:
        start = time.perf_counter()
        trainer.learn(examples)
        times.append(time.perf_counter() - start)
    memory = megabytes("VmHWM") / 1000
    method, case = network_method(trainer.raw.eval()), Case.read(open_pairs(Path(store)), 0)
    reduce = {"slice": lambda: method(case.measurement())}
    print(json.dumps([statistics.median(times[1:]), memory, alternate(reduce, 1)["slice"]]))


if __name__ == "__main__":
    main(measure)
