"""Read and validate the tags of a CT slice; errors name the tag, its value and the reason."""

from __future__ import annotations

import math
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from acdnet.errors import InputRefused
from acdnet.files import read_limited
from acdnet.io.dicom.bounds import HeaderFile, check_nesting, readable, shorten
from acdnet.io.dicom.plain import START_BYTES, has_preamble, is_plain
from acdnet.limits import MAX_DICOM_BYTES, MAX_TILT_DEGREES, check_pixel_mm, check_side
from acdnet.messages import quiet_readers, quoted

CT_STORAGE = "1.2.840.10008.5.1.4.1.1.2"
ENHANCED_CT = ("1.2.840.10008.5.1.4.1.1.2.1", "1.2.840.10008.5.1.4.1.1.2.2")
DIRECTORY = "1.2.840.10008.1.3.10"
IMPLICIT, EXPLICIT = "1.2.840.10008.1.2", "1.2.840.10008.1.2.1"
"""Transfer syntaxes for writing."""
BIG_ENDIAN = "1.2.840.10008.1.2.2"
PIXEL_DATA = 0x7FE00010
MIN_AXIAL = math.cos(math.radians(MAX_TILT_DEGREES))
HU_TYPES = ("HU", "HU_MOD", "US")
"""Some programs write US (unspecified) for HU."""
BITS_ALLOCATED, MIN_BITS = (8, 16, 32), 8
"""Sizes of a pixel, and the fewest bits of it that can hold an image in HU."""
UNIT_ERROR = 1e-3
"""Tolerance for the length of direction vectors and their right angle."""
REQUIRED = (
    "SOPInstanceUID",
    "StudyInstanceUID",
    "SeriesInstanceUID",
    "Rows",
    "Columns",
    "BitsAllocated",
    "BitsStored",
    "PixelRepresentation",
    "PhotometricInterpretation",
    "RescaleSlope",
    "RescaleIntercept",
    "PixelSpacing",
    "ImageOrientationPatient",
    "ImagePositionPatient",
)
"""Tags needed to write a slice again, in the order they are checked."""


def read_header(file: Path, must_be_dicom: bool) -> Any:
    """Read the tags without the pixels; return None for a file that is not DICOM, unless it must be."""
    import pydicom

    quiet_readers()
    try:
        with file.open("rb") as stream:
            start = stream.read(START_BYTES)
    except OSError as error:
        raise InputRefused(f"{file}: cannot be read ({error.strerror})") from error
    if not (has_preamble(start) or is_plain(start, CT_STORAGE)):
        if must_be_dicom:
            raise InputRefused(f"{file}: is not a DICOM file, and its name does not end in .nii, .nii.gz, .npy or .png")
        return None
    try:
        with HeaderFile(file) as stream:
            header = pydicom.dcmread(stream, stop_before_pixels=True, force=not has_preamble(start))
        _set_syntax(header, start)
        if str(header.file_meta.get("TransferSyntaxUID", "")) == BIG_ENDIAN:
            raise InputRefused(
                f"{file}: is big-endian (TransferSyntaxUID), which is retired; convert it to little-endian"
            )
        check_nesting(header, file)
        shorten(header)
        if str(header.file_meta.get("MediaStorageSOPClassUID", "")) == DIRECTORY:
            header.SOPClassUID = DIRECTORY  # a DICOMDIR has its class in the file meta information only
        if not header.get("SOPClassUID"):
            raise InputRefused(f"{file}: has no SOPClassUID; its header is truncated or damaged")
        return header
    except (InputRefused, MemoryError):
        raise
    except (Exception, RecursionError) as error:
        raise InputRefused(f"{file}: is a DICOM file, but cannot be read ({type(error).__name__})") from error


def read_dataset(file: Path) -> tuple[Any, bytes]:
    """Read a file of limited size; return its data set and its bytes."""
    import pydicom

    data = read_limited(file, MAX_DICOM_BYTES)
    read_header(file, must_be_dicom=True)
    with readable(file):
        dataset = pydicom.dcmread(BytesIO(data), force=not has_preamble(data))
        _set_syntax(dataset, data)
    check_nesting(dataset, file, after=PIXEL_DATA)
    return dataset, data


def _set_syntax(dataset: Any, start: bytes) -> None:
    """Give a data set without meta header the transfer syntax that it was recognised by."""
    if not has_preamble(start):
        dataset.file_meta.TransferSyntaxUID = IMPLICIT


def why_no_slice(header: Any) -> str:
    """Return why an object is not a CT slice; empty if it is one or the tags are unreadable."""
    kind = str(header.get("SOPClassUID", ""))
    if kind == DIRECTORY:
        return "DICOMDIR"
    if kind in ENHANCED_CT:
        return "enhanced multi-frame CT"
    if kind != CT_STORAGE:
        return "not CT images"
    try:
        if "LOCALIZER" in [str(value) for value in header.get("ImageType") or ()]:
            return "scouts"
    except Exception:
        return ""  # refused by check_slice
    return ""


def _refuse(file: Path, dataset: Any, tag: str, why: str) -> NoReturn:
    raise InputRefused(f"{file}: {tag} is {quoted(dataset.get(tag))}; {why}")


def plane_of(header: Any, file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the directions of rows and columns; refuse a missing or impossible orientation."""
    plane = header.get("ImageOrientationPatient")
    if plane is None or len(plane) != 6:
        raise InputRefused(
            f"{file}: ImageOrientationPatient is {quoted(plane)}; the orientation of a slice must be known"
        )
    values = np.array([float(value) for value in plane])
    across, down = values[:3], values[3:]
    lengths = np.array([across @ across, down @ down, 1 + across @ down])
    if not (np.isfinite(values).all() and np.abs(lengths - 1).max() <= UNIT_ERROR):
        raise InputRefused(
            f"{file}: ImageOrientationPatient is {quoted(plane)}; two perpendicular unit vectors are needed"
        )
    return across, down


def is_axial(across: np.ndarray, down: np.ndarray) -> bool:
    """Return whether a slice is axial for any patient position; a tilted gantry is allowed."""
    return bool(abs(np.cross(across, down)[2]) >= MIN_AXIAL)


def check_slice(dataset: Any, file: Path, any_plane: bool = False) -> None:
    """Refuse a slice whose tags are ambiguous or impossible."""
    if reason := why_no_slice(dataset):
        raise InputRefused(f"{file}: is not a CT slice ({reason})")
    if not is_axial(*plane_of(dataset, file)) and not any_plane:
        _refuse(file, dataset, "ImageOrientationPatient", "the slice is not axial")
    rows, columns = number(dataset, "Rows", file), number(dataset, "Columns", file)
    check_side((int(rows), int(columns)), f"{file}: Rows x Columns")
    photometric = str(dataset.get("PhotometricInterpretation", ""))
    if dataset.get("SamplesPerPixel", 1) != 1 or not photometric.startswith("MONO"):
        raise InputRefused(f"{file}: is a colour image (PhotometricInterpretation); a greyscale image is needed")
    if int(dataset.get("NumberOfFrames") or 1) != 1:
        raise InputRefused(f"{file}: has several frames (NumberOfFrames); convert it to single frames")
    if not 0 < number(dataset, "RescaleSlope", file) <= 1e3:
        raise InputRefused(
            f"{file}: RescaleSlope is {quoted(dataset.RescaleSlope)}; it must be positive and at most 1000"
        )
    number(dataset, "RescaleIntercept", file)
    if str(dataset.get("RescaleType") or "HU") not in HU_TYPES:
        _refuse(file, dataset, "RescaleType", "only HU is supported")
    _check_bits(dataset, file)
    if int(dataset.get("HighBit", -1)) != int(dataset.get("BitsStored", 0)) - 1:
        _refuse(file, dataset, "HighBit", "it must be BitsStored - 1")
    spacing = dataset.get("PixelSpacing")
    if spacing is None or len(spacing) != 2:
        _refuse(file, dataset, "PixelSpacing", "row and column spacing are needed")
    check_pixel_mm(tuple(float(mm) for mm in spacing), f"{file}: PixelSpacing")
    if "PixelData" not in dataset:
        raise InputRefused(f"{file}: has no PixelData")


def _check_bits(dataset: Any, file: Path) -> None:
    """Refuse pixels of an impossible type."""
    allocated, stored = number(dataset, "BitsAllocated", file), number(dataset, "BitsStored", file)
    if allocated not in BITS_ALLOCATED:
        _refuse(file, dataset, "BitsAllocated", "it must be 8, 16 or 32")
    if not MIN_BITS <= stored <= allocated or stored != int(stored):
        _refuse(file, dataset, "BitsStored", f"it must be between {MIN_BITS} and BitsAllocated")
    if number(dataset, "PixelRepresentation", file) not in (0, 1):
        _refuse(file, dataset, "PixelRepresentation", "it must be 0 or 1")


def check_complete(header: Any, file: Path) -> None:
    """Refuse a slice without a tag that its copy needs, as in a truncated header."""
    for tag in REQUIRED:
        if header.get(tag) in (None, ""):
            raise InputRefused(f"{file}: {tag} is missing; the file is truncated or damaged")


def number(dataset: Any, tag: str, file: Path) -> float:
    """Return the value of a tag that must be a finite number."""
    value = dataset.get(tag)
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise InputRefused(f"{file}: {tag} is {quoted(repr(value))}; a number is needed") from None
    if not math.isfinite(result):
        raise InputRefused(f"{file}: {tag} is {result}; it must be finite")
    return result


def make_uid(*parts: str) -> str:
    """Return a UID that depends only on the parts."""
    from pydicom.uid import generate_uid

    return str(generate_uid(entropy_srcs=list(parts)))
