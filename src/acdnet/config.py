"""The architecture of every network as a validated value, and the architectures that have a name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from itertools import pairwise, permutations
from typing import Any, ClassVar, Self

from acdnet.errors import ConfigError

ORDERS = tuple("".join(letters) for letters in permutations("KMX"))
"""The six orders in which a stage can update K, M and X (supplement, table of updating orders)."""

FIRSTS = ("li", "tracefit")
"""Methods whose image the iteration can begin with."""

LASTS = ("none", "trace_correction")
"""What can be done with the image of the last stage."""

MOST_COARSE = 6
"""No grid has pixels more than 2^6 times as wide."""

LARGEST = 10_000
"""No size of a network is larger; a file that claims so is broken or hostile."""


@dataclass(frozen=True)
class NetworkConfig(ABC):
    """Sizes of a network. Each kind of network has its own, and counts its parameters without being built."""

    network: ClassVar[str]
    """The kind, as files name it."""
    may_be_none: ClassVar[tuple[str, ...]] = ()
    """Sizes that may be 0."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type != "int":
                continue
            if type(value) is not int:
                raise ConfigError(f"{field.name} must be a whole number, not {value!r}")
            least = 0 if field.name in self.may_be_none else 1
            if value < least:
                raise ConfigError(f"{field.name} must be at least {least}")
            if value > LARGEST:
                raise ConfigError(f"{field.name} must be at most {LARGEST}")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build a config from plain data; name the first key that is not known."""
        known = {field.name for field in fields(cls)}
        for key in values:
            if key not in known:
                raise ConfigError(f"unknown key {key!r}; the keys are {', '.join(sorted(known))}")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return the config as plain data."""
        return asdict(self)

    @abstractmethod
    def count_parameters(self) -> int:
        """Count the parameters of the network, term by term, without building it."""


@dataclass(frozen=True)
class ACDNetConfig(NetworkConfig):
    """Sizes of the network, in the letters of the paper."""

    network: ClassVar[str] = "acdnet"
    may_be_none: ClassVar[tuple[str, ...]] = ("coarse",)

    T: int = 10
    """Number of stages, one per iteration of the unrolled solver."""
    N: int = 6
    """Number of feature maps M_n, and so of adaptive kernels D * K_n."""
    d: int = 32
    """Number of filters in the common dictionary D."""
    p: int = 9
    """Side of a filter in pixels, odd."""
    N_p: int = 32
    """Number of auxiliary channels P that travel with the image."""
    blocks: int = 3
    """Residual blocks in each proximal network of X and M."""
    order: str = "KMX"
    """Order of the updates within a stage."""
    coarse: int = 0
    """Further residual blocks in each proximal network of X, on pixels 2, 4, 8 .. times as wide; the paper has none.

    Dark bands between implants are wider than what a few 3 x 3 convolutions see.
    """
    first: str = "li"
    """The corrected image that the iteration begins with: li, as in the paper, or tracefit (mostly fewer streaks)."""
    last: str = "none"
    """What is done with the network's image: nothing, as in the paper, or `trace_correction`: rays that miss the metal
    get back what was taken from them. For images whose artifacts lie in the metal's rays alone."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p % 2 == 0:
            raise ConfigError(f"p must be odd, so that a filter has a centre, not {self.p}")
        if self.d < self.N:
            raise ConfigError(f"N must not exceed d (kernels are mixed from d filters): N={self.N}, d={self.d}")
        if self.coarse > MOST_COARSE:
            raise ConfigError(f"coarse must be at most {MOST_COARSE}, not {self.coarse}")
        if self.first not in FIRSTS:
            raise ConfigError(f"first must be one of {', '.join(FIRSTS)}, not {self.first!r}")
        if self.last not in LASTS:
            raise ConfigError(f"last must be one of {', '.join(LASTS)}, not {self.last!r}")
        if self.order not in ORDERS:
            raise ConfigError(f"order must be one of {', '.join(ORDERS)}, not {self.order!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return the config as plain data; of first and last what is not the paper's, as files had none at first."""
        usual = {("first", "li"), ("last", "none")}
        return {name: value for name, value in super().to_dict().items() if (name, value) not in usual}

    def count_parameters(self) -> int:
        """Count the parameters of the network, term by term, without building it."""

        def block(channels: int, factor: int = 1) -> int:
            return 2 * 9 * channels**2 * factor + 3 * channels * (1 + factor)

        width, channels = self.N * self.d, 1 + self.N_p
        coarse = sum(block(channels, 2**b) for b in range(1, self.coarse + 1))
        prox_X, prox_M = self.blocks * block(channels) + coarse, self.blocks * block(self.N) + self.N
        prox_K = 2 * (width**2 + width)
        stages = self.T * (prox_X + prox_M + prox_K + 3)
        start = 3 * prox_X + 2 * prox_M + self.N * self.p**2 + 9 * self.N_p + 2 * self.N**2 + 4
        if not self.order.startswith("K"):
            start += prox_K
        return stages + start + prox_X + self.d * self.p**2


@dataclass(frozen=True)
class CNNMARConfig(NetworkConfig):
    """CNNMAR: a few 3 x 3 convolutions over three images (Zhang and Yu 2018)."""

    network: ClassVar[str] = "cnnmar"

    width: int = 32
    """Channels between the convolutions."""
    layers: int = 5

    def count_parameters(self) -> int:
        channels = [3, *[self.width] * (self.layers - 1), 1]
        return sum(_conv(before, after, 3) for before, after in pairwise(channels))


@dataclass(frozen=True)
class DualConfig(NetworkConfig):
    """A network in the sinogram and one in the image: DuDoNet (Lin 2019), DSCMAR (Yu 2020), DuDoNet++ (Lyu 2020)."""

    width: int = 64
    """Channels of the first level; the levels have 1, 2, 4, 8 and 8 times as many."""

    def count_parameters(self) -> int:
        return self._count_sinogram() + self._count_image()

    def levels(self) -> tuple[int, int, int, int, int]:
        """Return the channels of the five levels, in both networks."""
        w = self.width
        return w, 2 * w, 4 * w, 8 * w, 8 * w

    def _count_sinogram(self) -> int:
        w = self.levels()
        down = [_conv(before + 1, after, 4) for before, after in pairwise((1, *w))]
        up = [_conv(w[4] + 1, w[3], 3)]
        up += [_conv(2 * w[level] + 1, w[level - 1], 3) for level in (3, 2, 1)] + [_conv(2 * w[0] + 1, 1, 3)]
        return sum(down) + sum(up)

    def _count_image(self) -> int:
        w = self.levels()
        down = [_double(before, after) for before, after in pairwise((2, *w))]
        up = [_double(w[4] + w[3], w[2]), _double(2 * w[2], w[1]), _double(2 * w[1], w[0]), _double(2 * w[0], w[0])]
        return sum(down) + sum(up) + _conv(w[0], 1, 1)


@dataclass(frozen=True)
class DuDoNetConfig(DualConfig):
    """Sinogram first, then the image."""

    network: ClassVar[str] = "dudonet"


@dataclass(frozen=True)
class DSCMARConfig(DualConfig):
    """The image first, as a prior for the sinogram."""

    network: ClassVar[str] = "dscmar"


@dataclass(frozen=True)
class DuDoNetPlusConfig(DualConfig):
    """As DuDoNet, from the measured sinogram and the path through metal, with three inputs to the image network."""

    network: ClassVar[str] = "dudonet++"

    def _count_image(self) -> int:
        w = self.levels()
        stems = _double(2, w[0]) + 2 * _double(1, w[0])
        wider = _double(2 * w[0], w[1]) - _double(w[0], w[1])
        return super()._count_image() - _double(2, w[0]) + stems + wider


def _conv(before: int, after: int, side: int) -> int:
    """Count a convolution with biases."""
    return side**2 * before * after + after


def _double(before: int, after: int) -> int:
    """Count two 3 x 3 convolutions, each with batch normalisation."""
    return _conv(before, after, 3) + _conv(after, after, 3) + 4 * after


ARCHITECTURES: dict[str, ACDNetConfig] = {
    "acdnet": ACDNetConfig(),
    "acdnet-s": ACDNetConfig(T=3, N_p=15, coarse=3),
}
"""Architectures by name: the paper's, and a small one for CPUs: 16 image channels fill SIMD registers exactly, and its
fewer convolutions see as far by coarser grids."""

RIVALS: dict[str, NetworkConfig] = {
    "cnnmar": CNNMARConfig(),
    "dudonet": DuDoNetConfig(),
    "dudonet-s": DuDoNetConfig(width=16),
    "dscmar": DSCMARConfig(),
    "dscmar-s": DSCMARConfig(width=16),
    "dudonet++": DuDoNetPlusConfig(),
    "dudonet++-s": DuDoNetPlusConfig(width=16),
}
"""The networks ACDNet is compared with: as published, and with a quarter of the channels (-s)."""

NETWORKS: dict[str, NetworkConfig] = {**ARCHITECTURES, **RIVALS}

_KINDS = {type(config).network: type(config) for config in NETWORKS.values()}
_KEY = "network"


def config_to_dict(config: NetworkConfig) -> dict[str, Any]:
    """Return a config as files hold it: its kind, which ACDNet's own leave out, and its sizes."""
    return config.to_dict() if isinstance(config, ACDNetConfig) else {_KEY: config.network, **config.to_dict()}


def config_from_dict(values: Mapping[str, Any]) -> NetworkConfig:
    """Read a config as files hold it."""
    kind = values.get(_KEY, ACDNetConfig.network)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ConfigError(f"no network {kind!r:.40}; there are {', '.join(_KINDS)}")
    return _KINDS[kind].from_dict({key: value for key, value in values.items() if key != _KEY})
