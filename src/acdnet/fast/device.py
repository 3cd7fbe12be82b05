"""The choice of a device."""

from __future__ import annotations

import torch

from acdnet.errors import ConfigError
from acdnet.messages import quoted

CHOICES = "choose auto, cpu, cuda, cuda:1, mps, xpu ..."


def choose_device(device: str) -> str:
    """Return the device to compute on; `auto` uses a GPU of CUDA if there is one."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        found = torch.device(device)
    except Exception as error:
        raise ConfigError(f"device is {quoted(device)!r}; {CHOICES}") from error
    if (found.index or 0) >= _count(found.type):
        raise ConfigError(f"device {quoted(device)!r} is not available; {CHOICES}; --device cpu always works")
    return device


def most_precise(device: torch.device) -> torch.dtype:
    """Return the floating-point type for geometry: double precision, which the GPUs of Apple lack."""
    return torch.float32 if device.type == "mps" else torch.float64


def _count(kind: str) -> int:
    """Return how many devices of a kind are here."""
    if kind == "cpu":
        return 1
    if kind == "mps":
        return int(torch.backends.mps.is_available())
    if kind in ("cuda", "xpu"):
        there = getattr(torch, kind)
        return int(there.device_count()) if there.is_available() else 0
    return 0
