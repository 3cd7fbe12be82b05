"""`acdnet train`: learn the weights of a network from simulated pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from acdnet.errors import MissingExtra


def train(
    config: Annotated[Path, typer.Argument(help="TOML file with the settings; docs/training.md lists them.")],
    change: Annotated[list[str] | None, typer.Option("--set", help="section.key=value, wins over the file.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint of the run.")] = False,
) -> None:
    """Train a network; on one processor, one GPU, several, or several machines under torchrun."""
    from acdnet.train.config import read_config

    settings = read_config(config, change or ())
    try:
        import lightning_fabric  # noqa: F401
    except ImportError as error:
        raise MissingExtra("training", "lightning-fabric tensorboard") from error
    from acdnet.train.loop import train as run

    run(settings, resume)
