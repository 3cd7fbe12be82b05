"""Compare the weights of a file with their network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from acdnet.config import NetworkConfig
from acdnet.errors import ModelFileError

MAX_WEIGHTS_BYTES = 512_000_000
MAX_PARAMETERS = 100_000_000
"""Limits far above any model of this package."""

STATISTICS = ("running_mean", "running_var", "num_batches_tracked")
"""Suffixes of names that are not parameters."""


def check_count(config: NetworkConfig, state: Mapping[str, Tensor], path: Path) -> None:
    """Refuse weights whose number does not match their sizes, before the network is built."""
    expected = config.count_parameters()
    found = sum(value.numel() for name, value in state.items() if not name.endswith(STATISTICS))
    if expected > MAX_PARAMETERS:
        raise ModelFileError(
            f"{path}: {expected:,} parameters ({_sizes(config)}) are more than the limit of {MAX_PARAMETERS:,}"
        )
    if found != expected:
        raise ModelFileError(f"{path}: contains {found:,} weights; a network with {_sizes(config)} has {expected:,}")


def _sizes(config: NetworkConfig) -> str:
    return ", ".join(f"{name}={value}" for name, value in config.to_dict().items())


def check_state(model: nn.Module, state: Mapping[str, Tensor], path: Path) -> None:
    """Refuse weights that are missing, unknown, not finite, or of the wrong shape or type.

    16-bit weights are accepted for 32-bit ones.
    """
    expected = model.state_dict()
    if missing := sorted(expected.keys() - state.keys()):
        raise ModelFileError(f"{path}: {len(missing)} weights are missing, the first is {missing[0]}")
    if extra := sorted(state.keys() - expected.keys()):
        raise ModelFileError(f"{path}: {len(extra)} weights are unknown, the first is {extra[0]}")
    for name, value in expected.items():
        found = state[name]
        if found.shape != value.shape:
            raise ModelFileError(f"{path}: {name} is {tuple(found.shape)}, expected {tuple(value.shape)}")
        short = found.dtype == torch.float16 and value.dtype == torch.float32
        if found.dtype != value.dtype and not short:
            raise ModelFileError(f"{path}: {name} is {found.dtype}, expected {value.dtype}")
        if not found.isfinite().all():
            raise ModelFileError(f"{path}: {name} contains values that are not finite")
