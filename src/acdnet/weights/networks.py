"""Build the network of a config."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from acdnet.config import ACDNetConfig, CNNMARConfig, DualConfig, LocaliserConfig, NetworkConfig
from acdnet.model.acdnet import ACDNet

if TYPE_CHECKING:
    from acdnet.methods.learned.cnnmar import CNNMAR
    from acdnet.methods.learned.dual import DualNetwork
    from acdnet.methods.learned.localiser import Localiser

Network: TypeAlias = "ACDNet | CNNMAR | DualNetwork | Localiser"


def build(config: NetworkConfig) -> Network:
    """Build a network with random weights."""
    match config:
        case ACDNetConfig():
            return ACDNet(config)
        case CNNMARConfig():
            from acdnet.methods.learned.cnnmar import CNNMAR

            return CNNMAR(config)
        case DualConfig():
            from acdnet.methods.learned.dual import make_dual

            return make_dual(config)
        case LocaliserConfig():
            from acdnet.methods.learned.localiser import Localiser

            return Localiser(config)
    raise TypeError(f"there is no network for {type(config).__name__}")
