"""The whole of a training step, data included, against the literal formulation: `python -m benchmarks.training`.

Both read the same patches of a store of phantoms, made for the occasion, with the batch and the loss of `acdnet train`.
The literal one reads them when it needs them; ours reads ahead. Times are medians of alternating steps; how long data
are waited for is measured over consecutive steps of each, since reading ahead would gain from the other's turn.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from acdnet.data.build import build
from acdnet.data.recipe import Recipe
from acdnet.data.sources import open_source
from acdnet.model.loss import L1_WEIGHT, MU_FINAL, MU_STAGE
from acdnet.train.config import from_dict
from acdnet.train.launch import make_fabric
from acdnet.train.loop import Trainer
from acdnet.train.tasks.task import Batch
from benchmarks.literal import LiteralACDNet

ROUNDS = 7
SLICES = 12
COLUMNS = ("training, data included", "seconds a step", "patches a second", "faster by", "waiting for data")


@dataclass(frozen=True)
class Row:
    """One contestant."""

    name: str
    seconds: float
    batch: int
    faster: float
    waiting: float

    def cells(self) -> tuple[str, ...]:
        speed = f"{self.batch / self.seconds:.1f}"
        return self.name, f"{self.seconds:.2f}", speed, f"{self.faster:.1f} x", f"{self.waiting:.1%}"


def literal_loss(model: LiteralACDNet, Y: Tensor, X_li: Tensor, X: Tensor, I: Tensor) -> Tensor:
    """Compare all images and artifacts with the truth, as Eq. (15) is written."""
    images, artifacts = model(Y, X_li, I)
    total = Y.new_zeros(())
    for n, image in enumerate(images):
        mu = MU_FINAL if n == len(images) - 1 else MU_STAGE
        total = total + mu * (I * (X - image)).square().mean() + L1_WEIGHT * mu * (I * (X - image)).abs().mean()
    for n, artifact in enumerate(artifacts):
        mu = MU_FINAL if n == len(artifacts) - 1 else MU_STAGE
        total = total + L1_WEIGHT * mu * (I * (Y - X - artifact)).abs().mean()
    return total


def measure(rounds: int = ROUNDS) -> list[Row]:
    """Train both, step by step in turns."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        list(build(open_source("phantom", SLICES), Recipe(pairs=2), store, 2))
        given = {
            "data": {"train": [str(store)]},
            "training": {"patches": 10**6},
            "run": {"folder": folder, "device": "cpu"},
        }
        config = from_dict(given)
        trainer = Trainer(config, make_fabric(config))
        t = config.training
        plain = trainer.task.examples(trainer.train, config, t.seed, t.focus)
        ahead = trainer.batches(plain)
        literal = LiteralACDNet().train()
        optimiser = torch.optim.Adam(literal.parameters(), lr=1e-5, betas=(t.beta1, t.beta2))
        times: dict[str, list[float]] = {"literal": [], "ours": []}

        def literal_step(step: int) -> float:
            start = time.perf_counter()
            batch: Batch = trainer.task.collate([plain[step * t.batch + n] for n in range(t.batch)])
            waited = time.perf_counter() - start
            loss = literal_loss(literal, *batch)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            return waited

        def our_step(step: int) -> float:
            before = ahead.waited
            trainer.learn(next(ahead))
            trainer.step = step
            return ahead.waited - before

        for step in range(rounds + 1):
            for name, run in (("literal", literal_step), ("ours", our_step)):
                start = time.perf_counter()
                run(step)
                if step:
                    times[name].append(time.perf_counter() - start)
        waits = {
            "literal": _waiting(literal_step, range(rounds + 1, 2 * rounds)),
            "ours": _waiting(our_step, range(rounds + 1, rounds + 2 + 3 * rounds)),
        }
        ahead.close()
    medians = {name: statistics.median(values) for name, values in times.items()}
    return [Row(name, seconds, t.batch, medians["literal"] / seconds, waits[name]) for name, seconds in medians.items()]


def _waiting(run: Callable[[int], float], steps: range) -> float:
    """Return the share of time that consecutive steps wait for data, after one that fills the store of patches."""
    run(steps[0])
    start = time.perf_counter()
    waited = sum(run(step) for step in steps[1:])
    return waited / (time.perf_counter() - start)


def main() -> None:
    """Print the table."""
    table = Table(*COLUMNS)
    for row in measure():
        table.add_row(*row.cells())
    Console().print(table)


if __name__ == "__main__":
    main()
