"""The sizes of every network, validated, the named architectures, and the names of the protocols."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from itertools import pairwise, permutations
from typing import Any, ClassVar, Self

from acdnet.errors import ConfigError

ORDERS = tuple("".join(letters) for letters in permutations("KMX"))
"""The six orders in which a stage can update K, M and X (supplement, table of updating orders)."""

PROTOCOLS = BENCHMARK, CLINICAL = "syndeeplesion", "clinical"
"""The protocols of simulation (`acdnet.physics.scanner`)."""

FIRSTS = ("li", "tracefit")
"""Methods whose image the iteration can start from."""

LASTS = ("none", "trace_correction")
"""Possible corrections of the final image."""

MOST_COARSE = 6
"""The coarsest grid has pixels 2^6 times as wide."""

LARGEST = 10_000
"""Upper limit of all sizes; a file with a larger one is damaged or malicious."""


@dataclass(frozen=True)
class NetworkConfig(ABC):
    """The sizes of a network; subclasses define those of each kind."""

    network: ClassVar[str]
    """The kind of network, as stored in files."""
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
        """Build a config from plain data; refuse unknown keys."""
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
        """Count the parameters of the network without building it."""


@dataclass(frozen=True)
class ACDNetConfig(NetworkConfig):
    """Sizes of the network, in the letters of the paper."""

    network: ClassVar[str] = "acdnet"
    may_be_none: ClassVar[tuple[str, ...]] = ("coarse",)

    T: int = 10
    """Number of stages, one per iteration of the unrolled solver."""
    N: int = 6
    """Number of feature maps M_n and of adaptive kernels D * K_n."""
    d: int = 32
    """Number of filters in the common dictionary D."""
    p: int = 9
    """Side of a filter in pixels, odd."""
    N_p: int = 32
    """Number of auxiliary channels P of the image."""
    blocks: int = 3
    """Residual blocks in each proximal network of X and M."""
    order: str = "KMX"
    """Order of the updates within a stage."""
    coarse: int = 0
    """Additional residual blocks in each proximal network of X, on pixels 2, 4, 8 .. times as wide; the paper has none.

    Dark bands between implants are wider than the receptive field of a few 3 x 3 convolutions.
    """
    first: str = "li"
    """The corrected image from which the iteration starts: li, as in the paper, or tracefit (mostly fewer streaks)."""
    last: str = "none"
    """The correction of the final image: none, as in the paper, or trace_correction, which restores what was removed
    from rays that miss the metal. It assumes that metal affects only rays through it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p % 2 == 0:
            raise ConfigError(f"p is {self.p}; it must be odd, so that a filter has a centre")
        if self.d < self.N:
            raise ConfigError(f"N is {self.N}; it must be at most d = {self.d}, since kernels are mixed from d filters")
        if self.coarse > MOST_COARSE:
            raise ConfigError(f"coarse must be at most {MOST_COARSE}, not {self.coarse}")
        if self.first not in FIRSTS:
            raise ConfigError(f"first must be one of {', '.join(FIRSTS)}, not {self.first!r}")
        if self.last not in LASTS:
            raise ConfigError(f"last must be one of {', '.join(LASTS)}, not {self.last!r}")
        if self.order not in ORDERS:
            raise ConfigError(f"order must be one of {', '.join(ORDERS)}, not {self.order!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return the config as plain data, without `first` and `last` where they are those of the paper."""
        paper = {("first", "li"), ("last", "none")}
        return {name: value for name, value in super().to_dict().items() if (name, value) not in paper}

    def count_parameters(self) -> int:
        """Count the parameters of the network without building it."""

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
    """A sinogram network and an image network: DuDoNet (Lin 2019), DSCMAR (Yu 2020), DuDoNet++ (Lyu 2020)."""

    width: int = 64
    """Channels of the first level; the five levels have 1, 2, 4, 8 and 8 times as many."""

    def count_parameters(self) -> int:
        return self._count_sinogram() + self._count_image()

    def levels(self) -> tuple[int, int, int, int, int]:
        """Return the channels of the five levels of both networks."""
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
    """Image first, as a prior for the sinogram."""

    network: ClassVar[str] = "dscmar"


@dataclass(frozen=True)
class DuDoNetPlusConfig(DualConfig):
    """Like DuDoNet, with the measured sinogram, the path through metal, and three inputs of the image network."""

    network: ClassVar[str] = "dudonet++"

    def _count_image(self) -> int:
        w = self.levels()
        stems = _double(2, w[0]) + 2 * _double(1, w[0])
        wider = _double(2 * w[0], w[1]) - _double(w[0], w[1])
        return super()._count_image() - _double(2, w[0]) + stems + wider


@dataclass(frozen=True)
class LocaliserConfig(NetworkConfig):
    """The localiser of metal, a U-Net."""

    network: ClassVar[str] = "localiser"

    width: int = 20
    """Channels of the first level; the five levels have 1, 2, 3, 4 and 4 times as many."""

    def widths(self) -> tuple[int, ...]:
        """Return the channels of the levels."""
        return tuple(times * self.width for times in (1, 2, 3, 4, 4))

    def count_parameters(self) -> int:
        def double(before: int, after: int) -> int:
            return 9 * (before + after) * after + 4 * after

        widths = self.widths()
        down = sum(double(before, after) for before, after in pairwise((36, *widths)))
        up = sum(double(fine + coarse, fine) for fine, coarse in pairwise(widths))
        return down + up + _conv(widths[0], 32, 1) + _conv(11, 8, 3) + _conv(8, 1, 3)


def _conv(before: int, after: int, side: int) -> int:
    """Count the parameters of a convolution with biases."""
    return side**2 * before * after + after


def _double(before: int, after: int) -> int:
    """Count the parameters of two 3 x 3 convolutions with batch normalisation."""
    return _conv(before, after, 3) + _conv(after, after, 3) + 4 * after


ARCHITECTURES: dict[str, ACDNetConfig] = {
    "acdnet": ACDNetConfig(),
    "acdnet-s": ACDNetConfig(T=3, N_p=15, coarse=3),
}
"""The paper's architecture, and a small one for CPUs: 16 image channels fill SIMD registers exactly, and coarser
grids make up for fewer convolutions."""

RIVALS: dict[str, NetworkConfig] = {
    "cnnmar": CNNMARConfig(),
    "dudonet": DuDoNetConfig(),
    "dudonet-s": DuDoNetConfig(width=16),
    "dscmar": DSCMARConfig(),
    "dscmar-s": DSCMARConfig(width=16),
    "dudonet++": DuDoNetPlusConfig(),
    "dudonet++-s": DuDoNetPlusConfig(width=16),
}
"""The networks that ACDNet is compared with: as published, and with a quarter of the channels (-s)."""

NETWORKS: dict[str, NetworkConfig] = {**ARCHITECTURES, **RIVALS, "localiser": LocaliserConfig()}

_KINDS = {type(config).network: type(config) for config in NETWORKS.values()}
_KEY = "network"


def config_to_dict(config: NetworkConfig) -> dict[str, Any]:
    """Return a config as stored in files: its sizes and, except for ACDNet, its kind."""
    return config.to_dict() if isinstance(config, ACDNetConfig) else {_KEY: config.network, **config.to_dict()}


def config_from_dict(values: Mapping[str, Any]) -> NetworkConfig:
    """Read a config as stored in files."""
    kind = values.get(_KEY, ACDNetConfig.network)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ConfigError(f"no network {kind!r:.40}; choose one of {', '.join(_KINDS)}")
    return _KINDS[kind].from_dict({key: value for key, value in values.items() if key != _KEY})
