"""Single steps for use from Python, on arrays in HU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import ConfigError, InputRefused
from acdnet.limits import as_mask, as_slice, check_not_inverted, check_pixel_mm
from acdnet.methods.acdnet import ACDNetMethod
from acdnet.methods.metal import Mask, Segmentation
from acdnet.methods.metal import find_metal as find_in_slices
from acdnet.methods.method import Reduction
from acdnet.methods.registry import get_method
from acdnet.physics.measurement import Image, Measurement


def find_metal(volume_hu: NDArray[Any], spacing_mm: Sequence[float], metal_threshold: float = 2500.0) -> Mask:
    """Return where the metal of a volume is, n x H x W, or of a slice, H x W.

    `spacing_mm` is the distance of rows and columns; a distance of slices before them is allowed.
    """
    volume = np.asarray(volume_hu, np.float32)
    if volume.ndim not in (2, 3) or not volume.size:
        raise InputRefused(f"the volume has the shape {volume.shape}; H x W or n x H x W is needed")
    return find_in_slices(volume, _in_plane(spacing_mm), Segmentation(threshold_hu=metal_threshold))


def li(slice_hu: NDArray[Any], mask: NDArray[Any], spacing_mm: Sequence[float]) -> Image:
    """Correct a slice by linear interpolation over the metal trace; the metal stays as it is."""
    return _correct("li", slice_hu, mask, spacing_mm)


def nmar(slice_hu: NDArray[Any], mask: NDArray[Any], spacing_mm: Sequence[float]) -> Image:
    """Correct a slice by normalised metal artifact reduction; the metal stays as it is."""
    return _correct("nmar", slice_hu, mask, spacing_mm)


def decompose(
    slice_hu: NDArray[Any],
    mask: NDArray[Any],
    spacing_mm: Sequence[float],
    model: str = "default",
    device: str = "auto",
) -> Reduction:
    """Reduce a slice by an ACDNet and return what it found on the way.

    The image is that of `acdnet.reduce`, but for the metal. `decomposition` has X, A, K, M and D * K of every stage, in
    network units.
    """
    method = get_method("acdnet" if model == "default" else model, device)
    if not isinstance(method, ACDNetMethod):
        raise ConfigError(f"{model!r} is no model of ACDNet; only ACDNet decomposes an image")
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
    if len(spacing_mm) not in (2, 3):
        raise InputRefused(f"spacing_mm is {spacing_mm}; give rows and columns, or slices, rows and columns, in mm")
    rows, columns = (float(mm) for mm in list(spacing_mm)[-2:])
    check_pixel_mm((rows, columns), "spacing_mm")
    return rows, columns
