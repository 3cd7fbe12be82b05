"""`acdnet.simulate`: add metal to a slice and scan it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from acdnet.config import BENCHMARK, CLINICAL
from acdnet.config import PROTOCOLS as PROTOCOLS
from acdnet.errors import ConfigError, InputRefused
from acdnet.limits import as_mask, as_slice, check_not_inverted, check_pixel_mm
from acdnet.physics.materials import METALS
from acdnet.physics.scanner import BenchmarkScanner, ClinicalScanner, Scanner, Simulation
from acdnet.units import Image, Mask

SMALLEST = 32
"""Smallest side of a slice in pixels."""
PLAUSIBLE_HU = (-10_000.0, 40_000.0)


def simulate(
    hu: ArrayLike,
    metal: ArrayLike,
    protocol: str = BENCHMARK,
    seed: int = 0,
    pixel_mm: float | None = None,
    material: str = "titanium",
) -> Simulation:
    """Scan a square slice in HU with metal where `metal` is true.

    The same arguments give the same result. The clinical protocol needs `pixel_mm`; the benchmark's makes every slice
    15.36 cm wide.
    """
    clean, mask = checked_slice(hu), checked_metal(metal)
    if mask.shape != clean.shape:
        raise InputRefused(f"the mask has the shape {mask.shape}, the slice {clean.shape}; they must be the same")
    if material not in METALS:
        raise ConfigError(f"no metal {material!r}; choose one of {', '.join(METALS)}")
    if seed < 0:
        raise ConfigError(f"seed is {seed}; it must not be negative")
    rng = np.random.default_rng(seed)
    return make_scanner(protocol, clean, pixel_mm, rng).with_metal(mask, material, rng)


def make_scanner(
    protocol: str, hu: Image, pixel_mm: float | None, rng: np.random.Generator, views: int = 640
) -> Scanner:
    """Return the scanner of a protocol for a slice; the clinical one projects images in some number of views."""
    if protocol == BENCHMARK:
        return BenchmarkScanner(hu)
    if protocol != CLINICAL:
        raise ConfigError(f"protocol is {protocol!r}; choose one of {', '.join(PROTOCOLS)}")
    if pixel_mm is None:
        raise ConfigError("the clinical protocol needs the pixel size (pixel_mm)")
    check_pixel_mm((pixel_mm,), "pixel_mm")
    return ClinicalScanner(hu, pixel_mm, rng, views)


def checked_slice(hu: ArrayLike) -> Image:
    """Return a square slice in HU; refuse other arrays."""
    image = as_slice(hu)
    if image.shape[0] != image.shape[1]:
        raise InputRefused(f"the slice has the shape {image.shape}; it must be a square")
    if len(image) < SMALLEST:
        raise InputRefused(
            f"the slice has {len(image)} x {len(image)} pixels; at least {SMALLEST} x {SMALLEST} pixels are needed"
        )
    if not np.isfinite(image).all():
        raise InputRefused(f"the slice has {int((~np.isfinite(image)).sum())} values that are not finite")
    low, high = float(image.min()), float(image.max())
    if low < PLAUSIBLE_HU[0] or high > PLAUSIBLE_HU[1]:
        raise InputRefused(f"the slice ranges from {low:g} to {high:g}; these are not Hounsfield units")
    return image


def checked_metal(metal: ArrayLike) -> Mask:
    """Return a mask that contains metal; refuse other arrays."""
    mask = as_mask(metal)
    if mask.ndim != 2:
        raise InputRefused(f"the metal mask has the shape {mask.shape}; it must be H x W")
    if not mask.any():
        raise InputRefused("the metal mask is empty: no metal lies inside the image")
    check_not_inverted(mask)
    return mask
