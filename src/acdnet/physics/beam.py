r"""Polychromatic beams: transmission through tissue and metal, photon noise, and the water correction.

A path L_m is the line integral of the attenuation of material m in 1/cm at the reference energy. With the
spectrum w(E) and r_m(E) the attenuation of m relative to the reference energy, the measured value is

    p = -ln sum over E of  w(E) exp(- sum over m of r_m(E) L_m).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from acdnet.errors import ConfigError
from acdnet.physics.materials import MATERIALS
from acdnet.units import WATER_MU

RAYS_AT_A_TIME = 16_384
"""Rays computed at once, which bounds the memory."""

WATER_CM = np.arange(51.0)
"""Water thicknesses to which the correction is fitted."""


@dataclass(frozen=True)
class Beam:
    """A spectrum: energies in keV and their shares of the detector signal."""

    name: str
    keV: tuple[float, ...]
    weight: tuple[float, ...]

    def energy_integrating(self) -> Beam:
        """Weight each photon by its energy, as a scintillator does."""
        weight = np.array(self.weight) * np.array(self.keV)
        return replace(self, name=f"{self.name}, energy-integrating", weight=tuple(weight / weight.sum()))

    @property
    def mean_keV(self) -> float:
        return float(np.dot(self.keV, self.weight))


def spectra() -> tuple[str, ...]:
    """Return the names of the included spectra."""
    return tuple(_table())


@lru_cache(maxsize=1)
def _table() -> dict[str, Beam]:
    text = (files("acdnet.physics") / "spectra.csv").read_text()
    header, *lines = [line.split(",") for line in text.splitlines() if not line.startswith("#")]
    columns = np.array(lines, dtype=float).T
    beams = {}
    for name, column in zip(header[1:], columns[1:], strict=True):
        used = column > 0
        keV, weight = columns[0][used], column[used] / column.sum()
        beams[name] = Beam(name, tuple(keV), tuple(weight))
    return beams


def beam(name: str) -> Beam:
    """Return a spectrum by name."""
    if name not in _table():
        raise ConfigError(f"no spectrum {name!r}; there are {', '.join(_table())}")
    return _table()[name]


def transmitted(paths: dict[str, Tensor], source: Beam) -> Tensor:
    """Return exp(-p), the share of the beam transmitted along paths through named materials, all of one shape."""
    names = list(paths)
    relative = torch.stack([torch.from_numpy(_relative(name, source)) for name in names])
    weight = torch.tensor(source.weight)
    stacked = torch.stack([paths[name].flatten() for name in names], 1)
    relative, weight = relative.to(stacked), weight.to(stacked)
    parts = [torch.exp(-(part @ relative)) @ weight for part in stacked.split(RAYS_AT_A_TIME)]
    return torch.cat(parts).view(next(iter(paths.values())).shape)


@lru_cache(maxsize=64)
def _relative(name: str, source: Beam) -> NDArray[np.float64]:
    return MATERIALS[name].relative(np.array(source.keV))


def count(share: Tensor, photons: float, scatter: float, rng: np.random.Generator) -> Tensor:
    """Draw Poisson photon counts with mean `photons` x share + scatter, at least one per bin; return p."""
    expected = np.round(photons * share.double().numpy()) + scatter
    counted = np.maximum(rng.poisson(expected), 1)
    return torch.from_numpy(-np.log(counted / photons)).to(share)


@lru_cache(maxsize=64)
def water_correction(source: Beam, degree: int = 3) -> tuple[float, ...]:
    """Fit the polynomial without constant term that maps p behind water to the path at the reference energy."""
    path = torch.from_numpy(WATER_CM * WATER_MU)
    p = -torch.log(transmitted({"water": path}, source)).numpy()
    powers = np.stack([p**k for k in range(1, degree + 1)], 1)
    return tuple(float(c) for c in np.linalg.lstsq(powers, path.numpy(), rcond=None)[0])


def correct(p: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    """Apply the water correction: c_1 p + c_2 p^2 + ..."""
    total = torch.zeros_like(p)
    for c in reversed(coefficients):
        total = (total + c) * p
    return total
