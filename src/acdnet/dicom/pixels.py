"""The pixels of a CT slice: stored numbers, HU, padding; and refusals where they cannot be what they say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused, MissingExtra

IMPLAUSIBLE_HU = 31_000.0
IMPLAUSIBLE_SHARE = 0.01
AIR_HU = -1000.0
CODECS = {
    "1.2.840.10008.1.2.4.57": ("JPEG lossless", "gdcm", "python-gdcm"),
    "1.2.840.10008.1.2.4.70": ("JPEG lossless", "gdcm", "python-gdcm"),
    "1.2.840.10008.1.2.4.80": ("JPEG-LS", "jpeg_ls", "pyjpegls"),
    "1.2.840.10008.1.2.4.81": ("JPEG-LS", "jpeg_ls", "pyjpegls"),
    "1.2.840.10008.1.2.4.90": ("JPEG 2000", "openjpeg", "pylibjpeg pylibjpeg-openjpeg"),
    "1.2.840.10008.1.2.4.91": ("JPEG 2000", "openjpeg", "pylibjpeg pylibjpeg-openjpeg"),
    "1.2.840.10008.1.2.4.50": ("JPEG", "gdcm", "python-gdcm"),
    "1.2.840.10008.1.2.4.51": ("JPEG", "gdcm", "python-gdcm"),
    "1.2.840.10008.1.2.4.201": ("high-throughput JPEG 2000", "openjpeg", "pylibjpeg pylibjpeg-openjpeg"),
}
"""Transfer syntax: its name, a module that reads it, the packages to install."""
LOSSY = ("1.2.840.10008.1.2.4.50", "1.2.840.10008.1.2.4.51")


def stored_pixels(dataset: Any, file: Path) -> NDArray[Any]:
    """Return the stored numbers, rows x columns; what lies above BitsStored is cut off."""
    syntax = str(dataset.file_meta.get("TransferSyntaxUID", ""))
    if syntax in CODECS:
        name, module, packages = CODECS[syntax]
        if not any(importlib.util.find_spec(found) for found in (module, "gdcm")):
            raise MissingCodec(f"{file}: reading {name}", packages)
    try:
        stored: NDArray[Any] = dataset.pixel_array
    except (Exception, RecursionError) as error:
        told = str(error).splitlines()[0][:200] if str(error) else ""
        raise InputRefused(f"{file}: its pixels cannot be read ({type(error).__name__}: {told})") from error
    if stored.ndim != 2:
        raise InputRefused(f"{file}: its pixels have the shape {stored.shape}; a slice is one picture")
    return stored


class MissingCodec(MissingExtra, InputRefused):
    """A compressed file cannot be read without a package."""

    exit_code = 3


def is_lossy(dataset: Any) -> bool:
    """Tell whether a picture ever lost something to compression."""
    return (
        str(dataset.get("LossyImageCompression", "00")) == "01"
        or str(dataset.file_meta.get("TransferSyntaxUID", "")) in LOSSY
    )


def padding_range(dataset: Any) -> tuple[int, int] | None:
    """Return the stored numbers that mean no pixel, from and to; the tag's sign follows that of the pixels."""
    value = dataset.get("PixelPaddingValue")
    if not isinstance(value, int):
        return None
    limit = dataset.get("PixelPaddingRangeLimit", value)
    ends = [_as_stored(end, dataset) for end in (value, limit if isinstance(limit, int) else value)]
    return min(ends), max(ends)


def _as_stored(value: int, dataset: Any) -> int:
    """Read a number as the pixels are read: files with the wrong VR state -2000 as 63536 and the other way round."""
    bits, signed = int(dataset.BitsAllocated), int(dataset.PixelRepresentation) == 1
    wrapped = value % (1 << bits)
    return wrapped - (1 << bits) if signed and wrapped >= 1 << (bits - 1) else wrapped


def padding_mask(dataset: Any, stored: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where a slice has no pixels."""
    found = padding_range(dataset)
    if found is None:
        return np.zeros(stored.shape, bool)
    return np.asarray((stored >= found[0]) & (stored <= found[1]))


def hounsfield(dataset: Any, stored: NDArray[Any], padding: NDArray[np.bool_], file: Path) -> NDArray[np.float32]:
    """Apply the rescale; padding becomes air. HU that no scanner makes are refused."""
    hu = stored.astype(np.float64) * float(dataset.RescaleSlope) + float(dataset.RescaleIntercept)
    hu[padding] = AIR_HU
    if float(np.mean(hu > IMPLAUSIBLE_HU)) > IMPLAUSIBLE_SHARE:
        raise InputRefused(f"{file}: implausible HU range up to {hu.max():g}; is PixelRepresentation wrong?")
    return hu.astype(np.float32)


def stored_limits(dataset: Any) -> tuple[int, int]:
    """Return the least and the largest number that BitsStored can hold."""
    bits = int(dataset.BitsStored)
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if int(dataset.PixelRepresentation) else (0, (1 << bits) - 1)
