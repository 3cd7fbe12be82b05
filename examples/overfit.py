"""Overfit one pair: the quickest proof that network, loss and training work together.

    python examples/overfit.py FOLDER [--architecture acdnet-s] [--patches 3000]

FOLDER is a store of `acdnet simulate`, or a folder of the benchmark as published. The network, any that `acdnet train`
knows, is trained on the first pair alone, and scored on it.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acdnet.config import NETWORKS
from acdnet.data.pairs import EVERYTHING, PairInfo, PairSet, open_pairs
from acdnet.data.store import Pair
from acdnet.evaluate.metrics import window_psnr
from acdnet.train.config import from_dict
from acdnet.train.launch import make_fabric
from acdnet.train.loop import Trainer

SETTINGS = {
    "acdnet": {"patches": 3000, "batch": 2, "patch": 128, "rate": 5e-3, "average": 0.99},
    "cnnmar": {"patches": 6000, "batch": 8, "patch": 64, "rate": 1e-3, "average": 0.99},
    "dudonet": {"patches": 200, "rate": 1e-3, "average": 0.97},
}
"""By kind of network, what was enough; those in both domains take whole slices."""


class OnePair:
    """One pair of a set, as a set."""

    def __init__(self, pairs: PairSet) -> None:
        self.folder, self.size, self.protocol, self.identity = pairs.folder, pairs.size, pairs.protocol, "one"
        self.info, self.pair = pairs.infos()[0], pairs.read(0)
        self.lines, self.clean_lines = pairs.sinogram(0), pairs.clean_sinogram(0)
        self.pixel = pairs.pixel_mm(0)

    def infos(self) -> list[PairInfo]:
        return [self.info]

    def read(self, index: int, rows: slice = EVERYTHING, columns: slice = EVERYTHING) -> Pair:  # noqa: ARG002
        p = self.pair
        clean, corrupted, li = (image[rows, columns] for image in (p.clean, p.corrupted, p.li))
        return Pair(clean, corrupted, li, p.metal[rows, columns])

    def sinogram(self, index: int) -> NDArray[np.float32] | None:  # noqa: ARG002
        return self.lines

    def clean_sinogram(self, index: int) -> NDArray[np.float32] | None:  # noqa: ARG002
        return self.clean_lines

    def pixel_mm(self, index: int) -> float | None:  # noqa: ARG002
        return self.pixel

    def verify(self) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--architecture", default="acdnet-s", choices=NETWORKS)
    parser.add_argument("--patches", type=int, help="or whole slices")
    args = parser.parse_args()
    one = OnePair(open_pairs(args.folder))
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
        trainer.train = [one]
        batches = trainer.batches(trainer.task.examples([one], config, 0, focus=0.0))
        for step in count():
            if step % max(1, trainer.total // 5) == 0:
                final = score(trainer, one)
                print(f"step {step} of {trainer.total}: {final:.2f} dB", flush=True)
            if step >= trainer.total:
                break
            trainer.learn(next(batches))
            trainer.step += 1
        batches.close()
    p = one.pair
    print(f"final {final:.2f} dB of the averaged weights")
    print(f"input {window_psnr(p.corrupted, p.clean, p.metal):.2f} dB, LI {window_psnr(p.li, p.clean, p.metal):.2f} dB")


def score(trainer: Trainer, one: OnePair) -> float:
    """Return the window PSNR of the averaged model on the pair."""
    image = trainer.task.reduced(trainer.calibrated(), one, 0)
    return window_psnr(image, one.pair.clean, one.pair.metal)


if __name__ == "__main__":
    main()
