"""Read and verify a model: hash, configuration, number, names, shapes, finite values and self-test, in this order."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from acdnet.config import NetworkConfig, config_from_dict
from acdnet.errors import ConfigError, ModelFileError
from acdnet.fast.device import choose_device
from acdnet.files import sha256
from acdnet.model.acdnet import ACDNet
from acdnet.weights.card import CONFIG_KEY, Card, read_card, read_model_file
from acdnet.weights.check import MAX_WEIGHTS_BYTES, check_count, check_state
from acdnet.weights.networks import Network, build
from acdnet.weights.selftest import KEY, TOLERANCE, selftest
from acdnet.weights.shipped import find_model


def load_model(name_or_path: str | Path = "default", device: str = "cpu") -> ACDNet:
    """Load a shipped model by name, or any model by path, in evaluation mode.

    It is an ordinary torch module that can be moved and trained. `acdnet.get_method` returns a model as a method on
    images in HU.
    """
    model, _ = read_acdnet(find_model(name_or_path))
    return model.to(choose_device(device))


def read_acdnet(path: Path) -> tuple[ACDNet, Card]:
    """Read and verify an ACDNet and its card."""
    model, card = read_model(path)
    if not isinstance(model, ACDNet):
        raise ModelFileError(f"{path}: is a model of {card.config.network}; a model of ACDNet is needed")
    return model, card


def read_model(path: Path) -> tuple[Network, Card]:
    """Read and verify a model of any kind and its card."""
    data = read_model_file(path, MAX_WEIGHTS_BYTES)
    card = read_card(path)
    if sha256(data) != card.sha256:
        raise ModelFileError(f"{path}: damaged or changed (its SHA-256 differs from that of its card)")
    state = _parse(data, path)
    expected = state.pop(KEY, None)
    if expected is None:
        raise ModelFileError(f"{path}: the result of the self-test ({KEY}) is missing")

    if _stored_config(data) != card.config:
        raise ModelFileError(f"{path}: its configuration differs from that of its card")
    if (count := card.config.count_parameters()) != card.parameters:
        raise ModelFileError(f"{path}: its card states {card.parameters:,} parameters, its configuration {count:,}")
    check_count(card.config, state, path)
    model = build(card.config)
    check_state(model, state, path)
    model.load_state_dict(state)
    _check_selftest(model, expected, path)
    return model.eval(), card


def _parse(data: bytes, path: Path) -> dict[str, Tensor]:
    try:
        state: dict[str, Tensor] = load(data)
    except (SafetensorError, ValueError, KeyError, RuntimeError, TypeError, OverflowError) as error:
        raise ModelFileError(f"{path}: is not a safetensors file") from error
    return state


def _stored_config(data: bytes) -> NetworkConfig | None:
    """Return the configuration in the header of a parsed safetensors file; None if there is none."""
    length = int.from_bytes(data[:8], "little")
    try:
        return config_from_dict(json.loads(json.loads(data[8 : 8 + length])["__metadata__"][CONFIG_KEY]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ConfigError):
        return None


def _check_selftest(model: Network, expected: Tensor, path: Path) -> None:
    found = selftest(model.eval())
    if expected.dtype != found.dtype or found.shape != expected.shape or not found.isfinite().all():
        raise ModelFileError(f"{path}: the self-test failed (no finite image of {tuple(found.shape)} pixels)")
    off = (found - expected).abs().max().item()
    if not off <= TOLERANCE:
        raise ModelFileError(f"{path}: the self-test failed (difference {off:.3g}, allowed {TOLERANCE:.3g})")
