"""Small data and settings for training tests."""

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acdnet.errors import TrainingStopped
from acdnet.train.config import TrainConfig, from_dict
from acdnet.train.loop import Trainer, train

PLAIN = {"initial": "published"}
"""With the other initial weights some gradients are only rounding errors at first, which Adam turns into steps."""


def small_config(store: Path, folder: Path, **training: Any) -> TrainConfig:
    """Return the settings of a run of ACDNet that takes seconds."""
    given = {
        "name": "small",
        "model": {"architecture": "acdnet-s", "T": 1, "N": 2, "d": 3, "p": 3, "N_p": 2, "blocks": 1},
        "data": {"train": [str(store)], "val": [str(store)], "val_splits": ["val"], "val_pairs": 1},
        "training": {"patches": 24, "batch": 4, "patch": 32, "patches_per_pair": 2, "seed": 3} | PLAIN | training,
        "run": {"folder": str(folder), "log_steps": 1, "device": "cpu"},
    }
    return from_dict(given)


def rival_config(store: Path, folder: Path, architecture: str, **training: Any) -> TrainConfig:
    """Return the settings of a run of another network that takes seconds."""
    patches = architecture == "cnnmar"
    given: dict[str, Any] = {
        "name": architecture,
        "model": {"architecture": architecture, "width": 4 if patches else 2},
        "training": {"patches": 6} | ({"batch": 2, "patch": 32} if patches else {}) | training,
    }
    return from_dict({**small_config(store, folder).to_dict(), **given})


def stopped_and_resumed(config: TrainConfig, monkeypatch: pytest.MonkeyPatch) -> TrainingStopped:
    """Stop a training in its third step and resume it; return the error with which it stopped."""
    learn = Trainer.learn

    def asked(self: Trainer, batch: Any) -> Any:
        if self.step == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return learn(self, batch)

    monkeypatch.setattr(Trainer, "learn", asked)
    with pytest.raises(TrainingStopped, match="--resume") as stopped:
        train(config, resume=False)
    monkeypatch.setattr(Trainer, "learn", learn)
    train(config, resume=True)
    return stopped.value


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Tell whether two states are equal, bit for bit."""
    return a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)
