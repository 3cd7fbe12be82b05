"""Where to compute."""

from __future__ import annotations

import torch

from acdnet.errors import ConfigError


def choose_device(device: str) -> str:
    """Return the device to compute on; `auto` takes a GPU where there is one."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        found = torch.device(device)
    except RuntimeError as error:
        raise ConfigError(f"no device {device!r}; it is auto, cpu, cuda, cuda:1 ...") from error
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"device {device!r} is not there; --device cpu works everywhere")
    return device
