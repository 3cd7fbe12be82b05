"""A small store with sinograms, and settings of runs on it that take seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from acdnet.data.recipe import Recipe
from acdnet.train.config import TrainConfig, from_dict
from tests.train.make import SIZE, small_store


def sinogram_store(folder: Path) -> Path:
    return small_store(folder, recipe=Recipe(pairs=1, size=SIZE, sinograms=True))


def settings(store: Path, folder: Path, architecture: str, **training: Any) -> TrainConfig:
    patches = architecture == "cnnmar"
    given: dict[str, Any] = {
        "name": architecture,
        "model": {"architecture": architecture, "width": 4 if patches else 2},
        "data": {"train": [str(store)], "val": [str(store)], "val_splits": ["val"], "val_pairs": 1},
        "training": {"patches": 6} | ({"batch": 2, "patch": 32} if patches else {}) | training,
        "run": {"folder": str(folder), "log_steps": 1, "device": "cpu"},
    }
    return from_dict(given)
