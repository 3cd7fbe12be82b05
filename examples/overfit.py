"""Overfit one pair: the quickest proof that network, loss and training work together.

    python examples/overfit.py FOLDER [--architecture acdnet-s] [--patches 3000]

FOLDER is a store of `acdnet simulate`, or a folder of the benchmark as published. The network, any that `acdnet train`
knows, is trained on the first pair alone, and scored on it.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import cast

from acdnet.config import NETWORKS
from acdnet.data.pairs import BenchmarkPairs, StorePairs, open_pairs
from acdnet.methods.registry import network_method
from acdnet.train.config import from_dict
from acdnet.train.launch import make_fabric
from acdnet.train.loop import Trainer
from acdnet.train.validate import validate
from acdnet.weights.networks import Network

SETTINGS = {
    "acdnet": {"patches": 3000, "batch": 2, "patch": 128, "rate": 5e-3, "average": 0.99},
    "cnnmar": {"patches": 6000, "batch": 8, "patch": 64, "rate": 1e-3, "average": 0.99},
    "dudonet": {"patches": 200, "rate": 1e-3, "average": 0.97},
}
"""By kind of network, what was enough; those in both domains take whole slices."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--architecture", default="acdnet-s", choices=NETWORKS)
    parser.add_argument("--patches", type=int, help="or whole slices")
    args = parser.parse_args()
    pairs = open_pairs(args.folder)
    assert isinstance(pairs, StorePairs | BenchmarkPairs)
    pairs.index = pairs.index[:1]
    settings = SETTINGS.get(NETWORKS[args.architecture].network, SETTINGS["dudonet"])
    with tempfile.TemporaryDirectory() as folder:
        config = from_dict(
            {
                "model": {"architecture": args.architecture},
                "data": {"train": [str(args.folder)], "train_splits": []},
                "training": settings | ({"patches": args.patches} if args.patches else {}),
                "run": {"folder": folder},
            }
        )
        trainer = Trainer(config, make_fabric(config))
        trainer.train = [pairs]
        batches = trainer.batches(trainer.task.examples([pairs], trainer.config, 0, hard_patch_share=0.0))
        for step in range(trainer.total + 1):
            if step % max(1, trainer.total // 5) == 0 or step == trainer.total:
                scores = validate(network_method(cast(Network, trainer.calibrated())), [pairs], 1)
                print(f"step {step} of {trainer.total}: {scores['model dB']:.2f} dB", flush=True)
            if step < trainer.total:
                trainer.learn(next(batches))
                trainer.step += 1
        batches.close()
    print(f"final {scores['model dB']:.2f} dB of the averaged weights")
    print(f"input {scores['input dB']:.2f} dB, LI {scores['li dB']:.2f} dB")


if __name__ == "__main__":
    main()
