"""The architecture of a network as a validated value, and the architectures that have a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from itertools import permutations
from typing import Any

from acdnet.errors import ConfigError

ORDERS = tuple("".join(letters) for letters in permutations("KMX"))
"""The six orders in which a stage can update K, M and X (supplement, table of updating orders)."""

LARGEST = 10_000
"""No size of a network is larger; a file that claims so is broken or hostile."""


@dataclass(frozen=True)
class ACDNetConfig:
    """Sizes of the network, in the letters of the paper."""

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

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "order":
                continue
            if type(value) is not int:
                raise ConfigError(f"{field.name} must be a whole number, not {value!r}")
            if value < 1:
                raise ConfigError(f"{field.name} must be at least 1")
            if value > LARGEST:
                raise ConfigError(f"{field.name} must be at most {LARGEST}")
        if self.p % 2 == 0:
            raise ConfigError(f"p must be odd, so that a filter has a centre, not {self.p}")
        if self.d < self.N:
            raise ConfigError(f"N must not exceed d (kernels are mixed from d filters): N={self.N}, d={self.d}")
        if self.order not in ORDERS:
            raise ConfigError(f"order must be one of {', '.join(ORDERS)}, not {self.order!r}")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ACDNetConfig:
        """Build a config from plain data; name the first key that is not known."""
        known = {field.name for field in fields(cls)}
        for key in values:
            if key not in known:
                raise ConfigError(f"unknown key {key!r}; the keys are {', '.join(sorted(known))}")
        return cls(**values)

    def count_parameters(self) -> int:
        """Count the parameters of the network, term by term, without building it."""

        def trunk(channels: int) -> int:
            return self.blocks * 2 * (9 * channels**2 + channels + 2 * channels)

        width = self.N * self.d
        prox_X, prox_M, prox_K = trunk(1 + self.N_p), trunk(self.N) + self.N, 2 * (width**2 + width)
        stages = self.T * (prox_X + prox_M + prox_K + 3)
        start = 3 * prox_X + 2 * prox_M + self.N * self.p**2 + 9 * self.N_p + 2 * self.N**2 + 4
        if not self.order.startswith("K"):
            start += prox_K
        return stages + start + prox_X + self.d * self.p**2

    def to_dict(self) -> dict[str, Any]:
        """Return the config as plain data."""
        return asdict(self)


ARCHITECTURES: dict[str, ACDNetConfig] = {
    "acdnet": ACDNetConfig(),
    "acdnet-s": ACDNetConfig(T=4, N_p=15),
}
"""Architectures by name: the paper's, and a small one for CPUs (16 image channels fill SIMD registers exactly)."""
