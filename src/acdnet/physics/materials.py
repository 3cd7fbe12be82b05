"""Compositions and attenuation of tissue and implants; data from xraylib (XCOM cross sections)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import ConfigError

REFERENCE_KEV = 70.0
"""The energy of attenuation images in 1/cm."""


@dataclass(frozen=True)
class Material:
    """A mixture of elements by mass, and its density in g/cm^3."""

    name: str
    density: float
    fractions: tuple[tuple[str, float], ...]

    def mass_attenuation(self, keV: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mass attenuation with coherent scatter in cm^2/g at each energy."""
        total = sum(fraction for _, fraction in self.fractions)
        return sum((w / total * _element(symbol, tuple(keV)) for symbol, w in self.fractions), np.zeros(len(keV)))

    def relative(self, keV: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the attenuation at each energy over that at the reference energy."""
        return self.mass_attenuation(keV) / self.mass_attenuation(np.array([REFERENCE_KEV]))

    @property
    def mu(self) -> float:
        """Linear attenuation in 1/cm at the reference energy."""
        return float(self.density * self.mass_attenuation(np.array([REFERENCE_KEV]))[0])


@lru_cache(maxsize=256)
def _element(symbol: str, keV: tuple[float, ...]) -> NDArray[np.float64]:
    import xraylib

    number = xraylib.SymbolToAtomicNumber(symbol)
    return np.array([xraylib.CS_Total(number, energy) for energy in keV])


# fmt: off
_ALL = (
    Material("water", 1.0, (("H", 0.111894), ("O", 0.888106))),
    Material("bone", 1.92, (  # cortical, ICRU-44
        ("H", 0.034), ("C", 0.155), ("N", 0.042), ("O", 0.435), ("Na", 0.001), ("Mg", 0.002),
        ("P", 0.103), ("S", 0.003), ("Ca", 0.225))),
    Material("titanium", 4.5, (("Ti", 1.0),)),
    Material("Ti6Al4V", 4.43, (("Ti", 0.90), ("Al", 0.06), ("V", 0.04))),
    Material("CoCrMo", 8.3, (("Co", 0.65), ("Cr", 0.29), ("Mo", 0.06))),
    Material("steel316L", 7.99, (("Fe", 0.66), ("Cr", 0.17), ("Ni", 0.12), ("Mo", 0.025), ("Mn", 0.02), ("Si", 0.005))),
    Material("amalgam", 11.6, (("Hg", 0.50), ("Ag", 0.33), ("Sn", 0.12), ("Cu", 0.05))),
    Material("gold", 19.3, (("Au", 1.0),)),
)
# fmt: on
MATERIALS = {material.name: material for material in _ALL}
METALS = tuple(name for name in MATERIALS if name not in ("water", "bone"))


def material(name: str) -> Material:
    """Return a material by name."""
    if name not in MATERIALS:
        raise ConfigError(f"no material {name!r}; there are {', '.join(MATERIALS)}")
    return MATERIALS[name]
