"""A simple scanner for phantoms: parallel beams, two energies, photon noise, and linear interpolation (LI).

It makes dark bands, streaks and noise of the right kind for a demonstration; it is not a model of any real scanner.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from skimage.transform import iradon, radon

from acdnet.demo.phantom import METAL, Phantom
from acdnet.units import hu_from_mu, mu_from_hu

VIEWS = 320
FIELD_CM = 40.0
"""Side of the picture."""
PHOTONS = 2e5
METAL_MU = (3.5, 1.6)
"""Attenuation of metal in 1/cm for the soft and the hard half of the beam."""
TISSUE_MU = (1.1, 0.9)
"""Attenuation of tissue relative to its mean, for the two halves."""
MOST_CHANGE_HU = 2500.0
"""Artifacts beyond this are cut off, as scanners cut off their images."""


@dataclass(frozen=True)
class Scan:
    """A slice as it should be, as it came out, and after LI; all in HU."""

    clean: NDArray[np.float32]
    corrupted: NDArray[np.float32]
    li: NDArray[np.float32]
    metal: NDArray[np.bool_]


def scan(phantom: Phantom, rng: np.random.Generator) -> Scan:
    """Scan a phantom with and without its metal; the artifact is the difference of the two reconstructions."""
    clean = mu_from_hu(phantom.hu.astype(np.float64))
    tissue = _project(np.where(phantom.metal, 0.0, clean))
    metal = _project(phantom.metal.astype(np.float64))
    trace = metal > 1e-3
    measured = np.where(trace, _measure(tissue, metal, rng), tissue)
    plain = _reconstruct(_project(clean))

    def with_change(sinogram: NDArray[np.float64]) -> NDArray[np.float32]:
        change = hu_from_mu(_reconstruct(sinogram)) - hu_from_mu(plain)
        image = phantom.hu + np.clip(change, -MOST_CHANGE_HU, MOST_CHANGE_HU)
        return np.maximum(image, -1000.0).astype(np.float32)

    corrupted = np.where(phantom.metal, np.float32(METAL), with_change(measured))
    return Scan(phantom.hu, corrupted, with_change(_interpolate(measured, trace)), phantom.metal)


def _measure(tissue: NDArray[np.float64], metal: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Send two energies through tissue and metal, count photons, take the logarithm, correct for tissue alone."""

    def counted(metal_path: NDArray[np.float64]) -> NDArray[np.float64]:
        halves = [np.exp(-t * tissue - m * metal_path) for t, m in zip(TISSUE_MU, METAL_MU, strict=True)]
        return 0.5 * (halves[0] + halves[1])

    photons = np.maximum(rng.poisson(PHOTONS * counted(metal)), 1)
    hardening = -np.log(counted(np.zeros_like(metal))) - tissue
    return np.asarray(-np.log(photons / PHOTONS) - hardening)


def _interpolate(sinogram: NDArray[np.float64], trace: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Replace the trace of the metal, view by view, by a straight line between its ends."""
    filled = sinogram.copy()
    bins = np.arange(len(sinogram))
    for view in range(sinogram.shape[1]):
        hidden = trace[:, view]
        filled[hidden, view] = np.interp(bins[hidden], bins[~hidden], sinogram[~hidden, view])
    return filled


def _angles() -> NDArray[np.float64]:
    return np.linspace(0.0, 180.0, VIEWS, endpoint=False)


def _project(mu: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(radon(mu, _angles(), circle=False) * (FIELD_CM / len(mu)))


def _reconstruct(sinogram: NDArray[np.float64]) -> NDArray[np.float64]:
    size = int(len(sinogram) / np.sqrt(2))
    return np.asarray(iradon(sinogram * (size / FIELD_CM), _angles(), size, "hann", circle=False))
