"""The pixels of a CT slice: stored values, HU and padding; impossible pixel data are refused."""

from __future__ import annotations

import importlib.util
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused, MissingExtra
from acdnet.io.dicom.decode import DecodingFailed, decode
from acdnet.io.dicom.tags import EXPLICIT, IMPLICIT
from acdnet.io.slices import Image, Mask
from acdnet.messages import quoted
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
"""Name, decoder module and packages by transfer syntax."""
LOSSY_METHODS = {
    "1.2.840.10008.1.2.4.50": "ISO_10918_1",
    "1.2.840.10008.1.2.4.51": "ISO_10918_1",
    "1.2.840.10008.1.2.4.81": "ISO_14495_1",
    "1.2.840.10008.1.2.4.91": "ISO_15444_1",
    "1.2.840.10008.1.2.4.203": "ISO_15444_15",
}
"""Values of LossyImageCompressionMethod by transfer syntax, for those that may be lossy."""
UNCOMPRESSED = (IMPLICIT, EXPLICIT)
FRAME_MARKERS = {0xFFC0, 0xFFC1, 0xFFC3, 0xFFF7}
"""Markers in JPEG and JPEG-LS streams that precede the image size; in JPEG 2000 it is 0xFF51."""


def stored_pixels(dataset: Any, file: Path) -> NDArray[Any]:
    """Return the stored values, rows x columns, without the bits above BitsStored."""
    syntax = str(dataset.file_meta.get("TransferSyntaxUID", ""))
    if syntax in CODECS:
        codec, module, packages = CODECS[syntax]
        if not any(importlib.util.find_spec(name) for name in (module, "gdcm")):
            raise MissingCodec(f"{file}: reading {codec}", packages)
        _check_stream(dataset, file)
    try:
        stored: NDArray[Any] = decode(dataset) if syntax in CODECS else dataset.pixel_array
    except DecodingFailed as error:
        raise InputRefused(f"{file}: pixels cannot be read ({quoted(error)})") from error
    except MemoryError:
        raise
    except (Exception, RecursionError) as error:
        raise InputRefused(f"{file}: pixels cannot be read ({type(error).__name__}: {quoted(error)})") from error
    if stored.ndim != 2:
        raise InputRefused(f"{file}: pixels have shape {stored.shape}; one greyscale image is needed")
    return stored


class MissingCodec(MissingExtra, InputRefused):
    """A compressed file needs a decoder that is not installed."""

    exit_code = 3


def is_lossy(dataset: Any) -> bool:
    """Return whether an image was ever compressed with loss; if the tags do not say, the transfer syntax decides."""
    syntax = str(dataset.file_meta.get("TransferSyntaxUID", ""))
    return str(dataset.get("LossyImageCompression") or ("01" if syntax in LOSSY_METHODS else "00")) == "01"


def _check_stream(dataset: Any, file: Path) -> None:
    """Before decoding, refuse a compressed stream whose size differs from the tags."""
    from pydicom.encaps import get_frame

    try:
        frame = get_frame(dataset.PixelData, 0, number_of_frames=1)
    except Exception as error:
        raise InputRefused(f"{file}: pixels cannot be read ({type(error).__name__})") from error
    size = _stream_size(frame)
    if size is not None and size != (int(dataset.Rows), int(dataset.Columns)):
        raise InputRefused(
            f"{file}: pixels cannot be read (the compressed stream is {size}, which is not Rows x Columns)"
        )


def _stream_size(frame: bytes) -> tuple[int, int] | None:
    """Return rows and columns of a JPEG, JPEG-LS or JPEG 2000 stream; None if it has no header."""
    if (start := frame.find(b"\xff\x4f\xff\x51")) >= 0 and len(frame) >= start + 24:
        right, bottom, left, top = struct.unpack(">4I", frame[start + 8 : start + 24])
        return bottom - top, right - left
    at = 2
    while at + 9 < len(frame):
        marker, length = struct.unpack(">2H", frame[at : at + 4])
        if marker in FRAME_MARKERS:
            rows, columns = struct.unpack(">2H", frame[at + 5 : at + 9])
            return rows, columns
        at += 2 + length
    return None


def stored_words(dataset: Any, stored: NDArray[Any]) -> NDArray[Any]:
    """Return the stored words of a slice, including the bits above BitsStored."""
    kind = np.dtype(f"{'i' if int(dataset.PixelRepresentation) else 'u'}{int(dataset.BitsAllocated) // 8}")
    count = stored.size * kind.itemsize
    if str(dataset.file_meta.get("TransferSyntaxUID", "")) not in UNCOMPRESSED or len(dataset.PixelData) < count:
        return stored
    return np.frombuffer(dataset.PixelData[:count], kind.newbyteorder("<")).reshape(stored.shape)


def padding_range(dataset: Any) -> tuple[int, int] | None:
    """Return the lowest and highest stored value that mark padding, with the sign of the pixels."""
    value = dataset.get("PixelPaddingValue")
    if not isinstance(value, int):
        return None
    limit = dataset.get("PixelPaddingRangeLimit", value)
    ends = [_as_stored(end, dataset) for end in (value, limit if isinstance(limit, int) else value)]
    return min(ends), max(ends)


def _as_stored(value: int, dataset: Any) -> int:
    """Convert a tag value to the type of the pixels: with a wrong VR, -2000 reads as 63536 and vice versa."""
    bits, signed = int(dataset.BitsAllocated), int(dataset.PixelRepresentation) == 1
    wrapped = value % (1 << bits)
    return wrapped - (1 << bits) if signed and wrapped >= 1 << (bits - 1) else wrapped


def padding_mask(dataset: Any, stored: NDArray[Any]) -> Mask:
    """Return the padding of a slice; its value may use bits above BitsStored."""
    limits = padding_range(dataset)
    if limits is None:
        return np.zeros(stored.shape, bool)
    words = stored_words(dataset, stored)
    return np.asarray((words >= limits[0]) & (words <= limits[1]))


def hounsfield(dataset: Any, stored: NDArray[Any], padding: Mask, file: Path) -> Image:
    """Convert stored values to HU; padding becomes air. Implausible HU are refused."""
    hu = stored.astype(np.float64) * float(dataset.RescaleSlope) + float(dataset.RescaleIntercept)
    hu[padding] = AIR_HU
    if float(np.mean(hu > IMPLAUSIBLE_HU)) > IMPLAUSIBLE_SHARE:
        raise InputRefused(f"{file}: implausible HU range up to {hu.max():g}; check PixelRepresentation")
    return hu.astype(np.float32)


def stored_limits(dataset: Any) -> tuple[int, int]:
    """Return the smallest and the largest value that BitsStored can hold."""
    bits = int(dataset.BitsStored)
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if int(dataset.PixelRepresentation) else (0, (1 << bits) - 1)
