"""All methods by name: the classical ones, kinds of networks, shipped models, and model files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from acdnet.config import NETWORKS
from acdnet.errors import ConfigError
from acdnet.weights.shipped import ALIASES, find_model, model_of_kind, shipped_models

if TYPE_CHECKING:
    from acdnet.methods.method import Method
    from acdnet.weights.card import Card
    from acdnet.weights.networks import Network


@dataclass(frozen=True)
class Entry:
    """A classical method: its label in tables, and what it does."""

    label: str
    about: str


INPUT, DEFAULT = "input", "acdnet"
CLASSICAL = {
    "li": Entry("LI", "linear interpolation over the metal trace"),
    "bhc": Entry("BHC", "first-order correction of the metal's beam hardening"),
    "nmar": Entry("NMAR", "normalised metal artifact reduction, prior from the LI image"),
    "nmar-raw": Entry("NMAR-raw", "normalised metal artifact reduction, prior from the image as scanned"),
    "tracefit": Entry("Trace fit", "the metal's part of the trace fitted and subtracted"),
}
KINDS = tuple(dict.fromkeys(config.network for config in NETWORKS.values()))
"""Kinds of networks; each names the shipped model of its kind, `acdnet` the default one."""


def method_help(with_input: bool = False) -> str:
    """Say which names there are, for the help of the command line."""
    names = [*((INPUT,) if with_input else ()), *CLASSICAL, DEFAULT]
    return f"{', '.join(names)}; the name of a shipped model (see `acdnet models`); or a .safetensors file"


def check_method(name: str) -> None:
    """Refuse a name that no method has, without loading anything large."""
    if name not in CLASSICAL and name != INPUT:
        _weights(name)


def get_method(name_or_path: str, device: str = "auto") -> Method:
    """Return a method by its name, or a network by the name or file of its model, ready to be used."""
    from acdnet.methods.classical import ClassicalMethod, InputMethod

    if name_or_path == INPUT:
        return InputMethod()
    from acdnet.fast.device import choose_device
    from acdnet.weights.load import read_model

    if name_or_path in CLASSICAL:
        return ClassicalMethod(name_or_path, CLASSICAL[name_or_path].label, choose_device(device))
    network, card = read_model(_weights(name_or_path))
    return network_method(network, card, device=choose_device(device))


def network_method(network: Network, card: Card | None = None, label: str = "", device: str = "cpu") -> Method:
    """Return a network as a method."""
    from acdnet.methods.acdnet import ACDNetMethod
    from acdnet.methods.cnnmar import CNNMARMethod
    from acdnet.methods.dual_domain import DualDomainMethod
    from acdnet.methods.learned.cnnmar import CNNMAR
    from acdnet.model.acdnet import ACDNet

    if isinstance(network, ACDNet):
        return ACDNetMethod(network, card, label, device)
    if isinstance(network, CNNMAR):
        return CNNMARMethod(network, card, label, device)
    return DualDomainMethod(network, card, label, device)


def _weights(name: str) -> Path:
    """Return the weights file that a name or a path means."""
    if name in KINDS:
        return find_model("default") if name == DEFAULT else model_of_kind(name)
    looks_like_file = Path(name).suffix or Path(name).exists()
    if not looks_like_file and name not in (*ALIASES, *shipped_models()):
        raise ConfigError(f"no method {name!r:.60}; there are {method_help()}")
    return find_model(name)
