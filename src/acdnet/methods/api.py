"""Single steps of a reduction in Python, on arrays in HU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import ConfigError, InputRefused
from acdnet.limits import as_mask, as_slice, as_spacing_mm, check_not_inverted
from acdnet.methods.acdnet import ACDNetMethod
from acdnet.methods.metal import choose_segmentation
from acdnet.methods.metal import find_metal as find_in_slices
from acdnet.methods.method import Reduction
from acdnet.methods.registry import get_method
from acdnet.physics.measurement import Measurement
from acdnet.units import Image, Mask


def find_metal(volume_hu: NDArray[Any], spacing_mm: Sequence[float], metal_threshold: float | None = None) -> Mask:
    """Detect the metal of a volume, n x H x W, or of a slice, H x W.

    `spacing_mm` is the row and column spacing, optionally preceded by the slice spacing. Without it, metal is found in
    each slice separately. `metal_threshold` replaces the localiser by a value in HU from which metal grows.
    """
    volume = np.asarray(volume_hu, np.float32)
    if volume.ndim not in (2, 3) or not volume.size:
        raise InputRefused(f"the volume has the shape {volume.shape}; it must be H x W or n x H x W")
    in_plane, how = _in_plane(spacing_mm), choose_segmentation("", metal_threshold)
    if volume.ndim == 2 or len(spacing_mm) == 3:
        return find_in_slices(volume, in_plane, how)
    return np.stack([find_in_slices(one, in_plane, how) for one in volume])


def li(slice_hu: NDArray[Any], mask: NDArray[Any], spacing_mm: Sequence[float]) -> Image:
    """Correct a slice by linear interpolation of the metal trace; the metal is unchanged."""
    return _correct("li", slice_hu, mask, spacing_mm)


def nmar(slice_hu: NDArray[Any], mask: NDArray[Any], spacing_mm: Sequence[float]) -> Image:
    """Correct a slice by normalised metal artifact reduction; the metal is unchanged."""
    return _correct("nmar", slice_hu, mask, spacing_mm)


def decompose(
    slice_hu: NDArray[Any],
    mask: NDArray[Any],
    spacing_mm: Sequence[float],
    model: str = "default",
    device: str = "auto",
) -> Reduction:
    """Decompose a slice by an ACDNet.

    Outside the metal, the image equals that of `acdnet.reduce`. `decomposition` contains X, A, K, M and D * K of every
    stage in network units.
    """
    method = get_method("acdnet" if model == "default" else model, device)
    if not isinstance(method, ACDNetMethod):
        raise ConfigError(f"{model!r} is not a model of ACDNet; only ACDNet decomposes images")
    return method.decompose([_measurement(slice_hu, mask, spacing_mm)])[0]


def _correct(name: str, slice_hu: NDArray[Any], mask: NDArray[Any], spacing_mm: Sequence[float]) -> Image:
    measurement = _measurement(slice_hu, mask, spacing_mm)
    image = get_method(name)(measurement).image_hu
    return np.where(measurement.slice_metal, measurement.slice_hu, image)


def _measurement(slice_hu: NDArray[Any], mask: NDArray[Any], spacing_mm: Sequence[float]) -> Measurement:
    hu = as_slice(slice_hu)
    metal = as_mask(mask, shape=hu.shape)
    check_not_inverted(metal)
    return Measurement(hu, metal, _in_plane(spacing_mm))


def _in_plane(spacing_mm: Sequence[float]) -> tuple[float, float]:
    rows, columns = as_spacing_mm(spacing_mm)[-2:]
    return rows, columns
