"""`acdnet.simulate`: one slice and one mask in, the slice with metal artifacts out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acdnet.errors import ConfigError, InputRefused
from acdnet.limits import as_mask, as_slice, check_not_inverted, check_pixel_mm
from acdnet.physics.materials import METALS
from acdnet.physics.scanner import BenchmarkScanner, ClinicalScanner, Scanner, Simulation

PROTOCOLS = ("syndeeplesion", "clinical")
SMALLEST = 32
"""Side of the smallest slice that is scanned, in pixels."""
PLAUSIBLE_HU = (-10_000.0, 40_000.0)


def simulate(
    hu: ArrayLike,
    metal: ArrayLike,
    protocol: str = "syndeeplesion",
    seed: int = 0,
    pixel_mm: float | None = None,
    material: str = "titanium",
) -> Simulation:
    """Scan a square slice in HU with metal where `metal` is true.

    The same arguments give the same result. `pixel_mm` is needed by the clinical protocol; the benchmark's makes
    every slice 15.36 cm wide.
    """
    clean, mask = checked_slice(hu), checked_metal(metal)
    if mask.shape != clean.shape:
        raise InputRefused(f"the mask has the shape {mask.shape}, the slice {clean.shape}; they must be the same")
    if material not in METALS:
        raise ConfigError(f"no metal {material!r}; there are {', '.join(METALS)}")
    if seed < 0:
        raise ConfigError(f"seed is {seed}; it must not be negative")
    rng = np.random.default_rng(seed)
    return make_scanner(protocol, clean, pixel_mm, rng).with_metal(mask, material, rng)


def make_scanner(protocol: str, hu: NDArray[np.float32], pixel_mm: float | None, rng: np.random.Generator) -> Scanner:
    """Return the scanner of a protocol for a slice."""
    if protocol == "syndeeplesion":
        return BenchmarkScanner(hu)
    if protocol != "clinical":
        raise ConfigError(f"no protocol {protocol!r}; there are {', '.join(PROTOCOLS)}")
    if pixel_mm is None:
        raise ConfigError("the clinical protocol needs the pixel size (pixel_mm)")
    check_pixel_mm((pixel_mm,), "pixel_mm")
    return ClinicalScanner(hu, pixel_mm, rng)


def checked_slice(hu: ArrayLike) -> NDArray[np.float32]:
    """Refuse what is not a square slice in HU."""
    image = as_slice(hu)
    if image.shape[0] != image.shape[1]:
        raise InputRefused(f"the slice has the shape {image.shape}; it must be a square")
    if len(image) < SMALLEST:
        raise InputRefused(f"the slice has {len(image)} x {len(image)} pixels; {SMALLEST} are needed at least")
    if not np.isfinite(image).all():
        raise InputRefused(f"the slice has {int((~np.isfinite(image)).sum())} values that are not finite")
    low, high = float(image.min()), float(image.max())
    if low < PLAUSIBLE_HU[0] or high > PLAUSIBLE_HU[1]:
        raise InputRefused(f"the slice runs from {low:g} to {high:g}; these are not Hounsfield units")
    return image


def checked_metal(metal: ArrayLike) -> NDArray[np.bool_]:
    """Refuse what is not a mask with metal in it."""
    mask = as_mask(metal)
    if mask.ndim != 2:
        raise InputRefused(f"the metal mask has the shape {mask.shape}; it must be a picture")
    if not mask.any():
        raise InputRefused("the metal mask is empty: no metal lies inside the image")
    check_not_inverted(mask)
    return mask
