"""The whole of a training step, data included, against the literal formulation: `python -m benchmarks.training`.

Both read the same patches of a store of phantoms, with the batch and the loss of `acdnet train`. The literal one reads
them when it needs them; ours reads ahead. Times are medians of alternating steps.
"""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import torch
from torch import Tensor

from acdnet.data.build import build
from acdnet.data.recipe import Recipe
from acdnet.data.sources import open_source
from acdnet.model.loss import L1_WEIGHT, MU_FINAL, MU_STAGE
from acdnet.train.config import from_dict
from acdnet.train.launch import make_fabric
from acdnet.train.loop import Trainer
from benchmarks.harness import Table, alternate, main
from benchmarks.literal import LiteralACDNet

ROUNDS = 7
SLICES = 12
COLUMNS = ("training, data included", "seconds a step", "patches a second", "faster by")


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


def measure(rounds: int = ROUNDS) -> Table:
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
        examples = trainer.task.examples(trainer.train, trainer.config, t.seed, t.hard_patch_share)
        batches, numbers = trainer.batches(examples), itertools.count()
        literal = LiteralACDNet().train()
        optimiser = torch.optim.Adam(literal.parameters(), lr=1e-5, betas=(t.beta1, t.beta2))

        def literal_step() -> None:
            first = t.batch * next(numbers)
            loss = literal_loss(literal, *trainer.task.collate([examples[first + n] for n in range(t.batch)]))
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()

        seconds = alternate({"literal": literal_step, "ours": lambda: trainer.learn(next(batches))}, rounds)
        batches.close()
    rows = [[name, f"{s:.2f}", f"{t.batch / s:.1f}", f"{seconds['literal'] / s:.1f} x"] for name, s in seconds.items()]
    return Table(COLUMNS, rows, ["The paper's architecture, batches of 8 patches of 64 x 64."])


if __name__ == "__main__":
    main(measure)
