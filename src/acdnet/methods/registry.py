"""All methods by name: classical methods, kinds of networks, shipped models, and model files."""

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
    """A classical method: its label in tables, and its description."""

    label: str
    about: str


INPUT, DEFAULT = "input", "acdnet"
CLASSICAL = {
    "li": Entry("LI", "linear interpolation over the metal trace"),
    "bhc": Entry("BHC", "first-order correction of beam hardening by metal"),
    "nmar": Entry("NMAR", "normalised metal artifact reduction, prior from the LI image"),
    "nmar-raw": Entry("NMAR-raw", "normalised metal artifact reduction, prior from the uncorrected image"),
    "tracefit": Entry("Trace fit", "fit and subtract the metal's share of the trace"),
}
KINDS = tuple(dict.fromkeys(config.network for config in NETWORKS.values()))
"""Kinds of networks; a kind stands for the shipped model of that kind, `acdnet` for the default model."""


def method_help(with_input: bool = False) -> str:
    """List the names for help texts and errors."""
    names = [*((INPUT,) if with_input else ()), *CLASSICAL, DEFAULT]
    return f"{', '.join(names)}; the name of a shipped model (see `acdnet models`); or a .safetensors file"


def check_method(name: str) -> None:
    """Refuse unknown names without loading torch."""
    if name not in CLASSICAL and name != INPUT:
        _weights(name)


def get_method(name_or_path: str, device: str = "auto") -> Method:
    """Return a method by name, or by the name or file of a model."""
    from acdnet.methods.classical import ClassicalMethod, InputMethod

    if name_or_path == INPUT:
        return InputMethod()
    from acdnet.fast.device import choose_device
    from acdnet.weights.load import read_model

    if name_or_path in CLASSICAL:
        return ClassicalMethod(name_or_path, CLASSICAL[name_or_path].label, choose_device(device))
    network, card = read_model(_weights(name_or_path))
    return network_method(network, card, choose_device(device))


def network_method(network: Network, card: Card | None = None, device: str = "cpu") -> Method:
    """Wrap a network as a method."""
    from acdnet.methods.acdnet import ACDNetMethod
    from acdnet.methods.cnnmar import CNNMARMethod
    from acdnet.methods.dual_domain import DualDomainMethod
    from acdnet.methods.learned.cnnmar import CNNMAR
    from acdnet.methods.learned.localiser import Localiser
    from acdnet.model.acdnet import ACDNet

    if isinstance(network, ACDNet):
        return ACDNetMethod(network, card, device)
    if isinstance(network, CNNMAR):
        return CNNMARMethod(network, card, device)
    if isinstance(network, Localiser):
        raise ConfigError("this model finds metal; it does not reduce artifacts, so it is not a method")
    return DualDomainMethod(network, card, device)


def _weights(name: str) -> Path:
    """Return the weights file of a name or path."""
    if name in KINDS:
        return find_model("default") if name == DEFAULT else model_of_kind(name)
    looks_like_file = Path(name).suffix or Path(name).exists()
    if not looks_like_file and name not in (*ALIASES, *shipped_models()):
        raise ConfigError(f"no method {name!r:.60}; choose one of {method_help()}")
    return find_model(name)
