"""Overfit one pair: the quickest proof that network, loss and training work together.

    python examples/overfit.py FOLDER [--patches 3000]

FOLDER is a store of `acdnet simulate`, or a folder of the benchmark as published. The small network is trained on the
first pair alone, and scored on it.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import count
from pathlib import Path

import numpy as np

from acdnet.data.pairs import EVERYTHING, PairInfo, PairSet, open_pairs
from acdnet.data.store import Pair
from acdnet.evaluate.metrics import window_psnr
from acdnet.model.border import decompose_hu, reduced_hu
from acdnet.model.inference import InferenceACDNet
from acdnet.train.config import from_dict
from acdnet.train.loop import Trainer
from acdnet.train.patches import Batches, Patches
from acdnet.train.processes import make_fabric


class OnePair:
    """One pair of a set, as a set."""

    def __init__(self, pairs: PairSet) -> None:
        self.folder, self.size, self.protocol, self.identity = pairs.folder, pairs.size, pairs.protocol, "one"
        self.info, self.pair = pairs.infos()[0], pairs.read(0)

    def infos(self) -> list[PairInfo]:
        return [self.info]

    def read(self, index: int, rows: slice = EVERYTHING, columns: slice = EVERYTHING) -> Pair:  # noqa: ARG002
        p = self.pair
        clean, corrupted, li = (image[rows, columns] for image in (p.clean, p.corrupted, p.li))
        return Pair(clean, corrupted, li, p.metal[rows, columns])

    def sinogram(self, index: int) -> None:  # noqa: ARG002
        return None

    def pixel_mm(self, index: int) -> None:  # noqa: ARG002
        return None

    def verify(self) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--patches", type=int, default=3000)
    args = parser.parse_args()
    one = OnePair(open_pairs(args.folder))
    with tempfile.TemporaryDirectory() as folder:
        config = from_dict(
            {
                "model": {"architecture": "acdnet-s"},
                "data": {"train": [str(args.folder)], "train_splits": []},
                "training": {"patches": args.patches, "batch": 2, "patch": 128, "rate": 5e-3, "average": 0.99},
                "run": {"folder": folder},
            }
        )
        trainer = Trainer(config, make_fabric(config))
        patches = Patches([one], config.training.patch, 0)
        batches = Batches(patches, config.training.batch)
        for step in count():
            if step % max(1, trainer.total // 5) == 0:
                final = score(trainer, patches, one.pair)
                print(f"step {step} of {trainer.total}: {final:.2f} dB", flush=True)
            if step >= trainer.total:
                break
            trainer.learn(next(batches))
            trainer.step += 1
        batches.close()
    p = one.pair
    print(f"final {final:.2f} dB of the averaged weights")
    print(f"input {window_psnr(p.corrupted, p.clean, p.metal):.2f} dB, LI {window_psnr(p.li, p.clean, p.metal):.2f} dB")


def score(trainer: Trainer, patches: Patches, pair: Pair) -> float:
    """Return the window PSNR of the averaged model on the pair."""
    model = InferenceACDNet(trainer.calibrated(patches))
    found = decompose_hu(model, pair.corrupted, pair.li, pair.metal)
    image = reduced_hu(found, pair.corrupted, pair.metal)
    assert np.isfinite(image).all()
    return window_psnr(image, pair.clean, pair.metal)


if __name__ == "__main__":
    main()
