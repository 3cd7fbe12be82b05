"""`acdnet train`: train a network on simulated pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from acdnet.errors import MissingExtra


def train(
    config: Annotated[Path, typer.Argument(help="TOML file of settings (docs/training.md).")],
    change: Annotated[list[str] | None, typer.Option("--set", help="Override a setting: section.key=value.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the last checkpoint.")] = False,
) -> None:
    """Train a network on simulated pairs.

    Runs on a CPU, on one or several GPUs, or on several machines under torchrun.
    """
    from acdnet.train.config import read_config

    settings = read_config(config, change or ())
    try:
        import lightning_fabric  # noqa: F401
    except ImportError as error:
        raise MissingExtra("training", "lightning-fabric tensorboard") from error
    from acdnet.train.loop import train as run

    run(settings, resume)
