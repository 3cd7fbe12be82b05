"""The pixels of a CT slice: stored numbers, HU, padding; and refusals where they cannot be what they say."""

from __future__ import annotations

import importlib.util
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused, MissingExtra
from acdnet.units import AIR_HU

IMPLAUSIBLE_HU = 31_000.0
IMPLAUSIBLE_SHARE = 0.01
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
LOSSY = {
    "1.2.840.10008.1.2.4.50": "ISO_10918_1",
    "1.2.840.10008.1.2.4.51": "ISO_10918_1",
    "1.2.840.10008.1.2.4.81": "ISO_14495_1",
    "1.2.840.10008.1.2.4.91": "ISO_15444_1",
    "1.2.840.10008.1.2.4.203": "ISO_15444_15",
}
"""Transfer syntaxes that may lose something, and what DICOM calls their methods."""
NATIVE = ("1.2.840.10008.1.2", "1.2.840.10008.1.2.1")
"""Transfer syntaxes that store pixels as they are."""
FRAME_MARKERS = {0xFFC0, 0xFFC1, 0xFFC3, 0xFFF7}
"""Marks in a JPEG or JPEG-LS stream that tell its size; in JPEG 2000 it is 0xFF51."""


def stored_pixels(dataset: Any, file: Path) -> NDArray[Any]:
    """Return the stored numbers, rows x columns; what lies above BitsStored is cut off."""
    syntax = str(dataset.file_meta.get("TransferSyntaxUID", ""))
    if syntax in CODECS:
        name, module, packages = CODECS[syntax]
        if not any(importlib.util.find_spec(found) for found in (module, "gdcm")):
            raise MissingCodec(f"{file}: reading {name}", packages)
        _check_stream(dataset, file)
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
    """Tell whether a picture ever lost something to compression; where it may have and does not say, it has."""
    syntax = str(dataset.file_meta.get("TransferSyntaxUID", ""))
    return str(dataset.get("LossyImageCompression") or ("01" if syntax in LOSSY else "00")) == "01"


def _check_stream(dataset: Any, file: Path) -> None:
    """Refuse a compressed stream that claims another size than its tags, before it is unpacked."""
    from pydicom.encaps import get_frame

    try:
        frame = get_frame(dataset.PixelData, 0, number_of_frames=1)
    except Exception as error:
        raise InputRefused(f"{file}: its pixels cannot be read ({type(error).__name__})") from error
    size = _stream_size(frame)
    if size is not None and size != (int(dataset.Rows), int(dataset.Columns)):
        raise InputRefused(f"{file}: its pixels cannot be read (the stream is {size}, Rows x Columns is not)")


def _stream_size(frame: bytes) -> tuple[int, int] | None:
    """Return rows and columns of a JPEG, JPEG-LS or JPEG 2000 stream, where it says so."""
    if (start := frame.find(b"\xff\x4f\xff\x51")) >= 0 and len(frame) >= start + 24:
        wide, high, left, top = struct.unpack(">4I", frame[start + 8 : start + 24])
        return high - top, wide - left
    at = 2
    while at + 9 < len(frame):
        marker, length = struct.unpack(">2H", frame[at : at + 4])
        if marker in FRAME_MARKERS:
            rows, columns = struct.unpack(">2H", frame[at + 5 : at + 9])
            return rows, columns
        at += 2 + length
    return None


def stored_words(dataset: Any, stored: NDArray[Any]) -> NDArray[Any]:
    """Return the words of a slice as they are in the file, what lies above BitsStored included."""
    kind = np.dtype(f"{'i' if int(dataset.PixelRepresentation) else 'u'}{int(dataset.BitsAllocated) // 8}")
    count = stored.size * kind.itemsize
    if str(dataset.file_meta.get("TransferSyntaxUID", "")) not in NATIVE or len(dataset.PixelData) < count:
        return stored
    return np.frombuffer(dataset.PixelData[:count], kind.newbyteorder("<")).reshape(stored.shape)


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
    """Return where a slice has no pixels; the mark may use bits that no pixel has."""
    found = padding_range(dataset)
    if found is None:
        return np.zeros(stored.shape, bool)
    words = stored_words(dataset, stored)
    return np.asarray((words >= found[0]) & (words <= found[1]))


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
