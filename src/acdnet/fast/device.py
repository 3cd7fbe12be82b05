"""The choice of a device."""

from __future__ import annotations

import torch

from acdnet.errors import ConfigError


def choose_device(device: str) -> str:
    """Return the device to compute on; `auto` uses a GPU if there is one."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        found = torch.device(device)
    except RuntimeError as error:
        raise ConfigError(f"device is {device!r}; choose auto, cpu, cuda, cuda:1 ...") from error
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"device {device!r} is not available; use --device cpu")
    return device
