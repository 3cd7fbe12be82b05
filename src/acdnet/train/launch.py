"""Start the processes of a run, and handle requests to stop."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch

from acdnet.errors import ConfigError
from acdnet.messages import quoted
from acdnet.train.config import TrainConfig


@contextmanager
def asked_to_stop() -> Iterator[list[int]]:
    """Collect SIGTERM and Ctrl-C as exit codes; the loop stops after the current step."""
    asked: list[int] = []
    codes = {signal.SIGTERM: 143, signal.SIGINT: 130}

    def note(number: int, _: FrameType | None) -> None:
        asked.append(codes[signal.Signals(number)])

    before = {number: signal.signal(number, note) for number in codes}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def make_fabric(config: TrainConfig) -> Any:
    """Start Lightning Fabric for one process, for several on this machine, or for those started by torchrun."""
    from lightning_fabric import Fabric
    from lightning_fabric.strategies.ddp import DDPStrategy

    accelerator = {"auto": "auto", "cpu": "cpu", "gpu": "gpu", "cuda": "gpu"}.get(config.run.device)
    if accelerator is None:
        raise ConfigError(f"run.device is {quoted(repr(config.run.device))}; choose auto, cpu or gpu")
    if accelerator == "gpu" and not (torch.cuda.is_available() or torch.backends.mps.is_available()):
        raise ConfigError(f"run.device is {config.run.device!r}, but there is no GPU; choose auto or cpu")
    started = int(os.environ.get("WORLD_SIZE", "1"))
    nodes = max(1, started // int(os.environ.get("LOCAL_WORLD_SIZE", started)))
    devices = int(os.environ.get("LOCAL_WORLD_SIZE", config.run.devices))
    several = devices * nodes > 1
    fabric = Fabric(
        accelerator=accelerator, devices=devices, num_nodes=nodes, strategy=DDPStrategy() if several else "auto"
    )
    if several:
        fabric.launch()
    return fabric
