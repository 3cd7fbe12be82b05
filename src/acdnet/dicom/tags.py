"""The tags of a CT slice: read without trust, and refused with the tag, the value and the reason."""

from __future__ import annotations

import logging
import math
import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from acdnet.errors import InputRefused
from acdnet.files import read_limited

CT_STORAGE = "1.2.840.10008.5.1.4.1.1.2"
ENHANCED_CT = ("1.2.840.10008.5.1.4.1.1.2.1", "1.2.840.10008.5.1.4.1.1.2.2")
DIRECTORY = "1.2.840.10008.1.3.10"
DEFLATED, BIG_ENDIAN = "1.2.840.10008.1.2.1.99", "1.2.840.10008.1.2.2"
LARGEST_FILE = 256 * 2**20
LARGEST_SIDE = 4096
LEAST_AXIAL = math.cos(math.radians(35.0))
"""A gantry tilts by 30 degrees at most; a plane that leans more is another one."""
HU_TYPES = ("HU", "HU_MOD", "US")
"""US is what careless programs write where they mean HU."""
UNIT_ERROR = 1e-3
"""How far a direction may be from length 1, and two from a right angle."""
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
"""Tags without which a slice cannot be written again, in the order they are looked for."""


def read_header(file: Path, must_be_dicom: bool) -> Any:
    """Read the tags without the pixels; None where a folder holds something that is not DICOM."""
    import pydicom

    _hush_pydicom()
    try:
        with file.open("rb") as stream:
            magic = stream.read(132)[128:]
    except OSError as error:
        raise InputRefused(f"{file}: cannot be read ({error.strerror})") from error
    if magic != b"DICM":
        if must_be_dicom:
            raise InputRefused(f"{file}: is not a DICOM file, nor .nii, .nii.gz, .npy or .png by its name")
        return None
    try:
        meta = pydicom.filereader.read_file_meta_info(file)
        syntax = str(meta.get("TransferSyntaxUID", ""))
        if syntax == DEFLATED:
            raise InputRefused(f"{file}: is deflated (TransferSyntaxUID); inflate it first")
        if syntax == BIG_ENDIAN:
            raise InputRefused(f"{file}: is big-endian (TransferSyntaxUID), which was retired; convert it first")
        header = pydicom.dcmread(file, stop_before_pixels=True)
        if str(meta.get("MediaStorageSOPClassUID", "")) == DIRECTORY:
            header.SOPClassUID = DIRECTORY  # the file itself says it in its meta information only
        if not header.get("SOPClassUID"):
            raise InputRefused(f"{file}: has no SOPClassUID; its header is cut or broken")
        return header
    except InputRefused:
        raise
    except (Exception, RecursionError) as error:
        raise InputRefused(f"{file}: is a DICOM file that cannot be read ({type(error).__name__})") from error


def _hush_pydicom() -> None:
    """Keep the values of tags that pydicom finds odd out of terminals and logs: they may name a patient."""
    logging.getLogger("pydicom").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module="pydicom")


def read_dataset(file: Path) -> tuple[Any, bytes]:
    """Read a whole file, never more than a slice can have; return its data set and its bytes."""
    import pydicom

    data = read_limited(file, LARGEST_FILE)
    read_header(file, must_be_dicom=True)
    return pydicom.dcmread(BytesIO(data)), data


def why_no_slice(header: Any) -> str:
    """Say why an object is not a CT slice; nothing where it is one, or where its tags cannot tell."""
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
        return ""  # check_slice refuses it with the reason
    return ""


def plane_of(header: Any, file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the directions of rows and columns; refuse what is missing or no pair of unit vectors."""
    plane = header.get("ImageOrientationPatient")
    if plane is None or len(plane) != 6:
        raise InputRefused(f"{file}: ImageOrientationPatient is {plane}; how the slice lies must be known")
    values = np.array([float(value) for value in plane])
    across, down = values[:3], values[3:]
    lengths = np.array([across @ across, down @ down, 1 + across @ down])
    if not (np.isfinite(values).all() and np.abs(lengths - 1).max() <= UNIT_ERROR):
        raise InputRefused(f"{file}: ImageOrientationPatient is {plane}; two unit vectors at right angles are needed")
    return across, down


def is_axial(across: np.ndarray, down: np.ndarray) -> bool:
    """Tell whether a slice cuts across the patient, however he lies; a tilted gantry is allowed for."""
    return bool(abs(np.cross(across, down)[2]) >= LEAST_AXIAL)


def check_slice(dataset: Any, file: Path, any_plane: bool = False) -> None:
    """Refuse a slice whose tags leave its meaning open."""
    if reason := why_no_slice(dataset):
        raise InputRefused(f"{file}: is not a CT slice ({reason})")
    if not is_axial(*plane_of(dataset, file)) and not any_plane:
        plane = dataset.ImageOrientationPatient
        raise InputRefused(f"{file}: ImageOrientationPatient is {plane}; the slice is not axial")
    rows, columns = number(dataset, "Rows", file), number(dataset, "Columns", file)
    if not (1 <= rows <= LARGEST_SIDE and 1 <= columns <= LARGEST_SIDE):
        raise InputRefused(f"{file}: Rows x Columns is {rows:g} x {columns:g}; {LARGEST_SIDE} is the most")
    photometric = str(dataset.get("PhotometricInterpretation", ""))
    if dataset.get("SamplesPerPixel", 1) != 1 or not photometric.startswith("MONO"):
        raise InputRefused(f"{file}: is a colour image (PhotometricInterpretation)")
    if int(dataset.get("NumberOfFrames") or 1) != 1:
        raise InputRefused(f"{file}: has several frames (NumberOfFrames); only single slices are read")
    if not 0 < number(dataset, "RescaleSlope", file) <= 1e3:
        raise InputRefused(f"{file}: RescaleSlope is {dataset.RescaleSlope}; HU need a positive one")
    number(dataset, "RescaleIntercept", file)
    if (kind := str(dataset.get("RescaleType") or "HU")) not in HU_TYPES:
        raise InputRefused(f"{file}: RescaleType is {kind}; only HU are understood")
    if int(dataset.get("HighBit", -1)) != int(dataset.get("BitsStored", 0)) - 1:
        raise InputRefused(f"{file}: HighBit is {dataset.get('HighBit')}; it must be BitsStored - 1")
    spacing = dataset.get("PixelSpacing")
    if spacing is None or len(spacing) != 2 or not all(math.isfinite(float(mm)) and float(mm) > 0 for mm in spacing):
        raise InputRefused(f"{file}: PixelSpacing is {spacing}; the size of pixels must be known")
    if "PixelData" not in dataset:
        raise InputRefused(f"{file}: has no PixelData")


def check_complete(header: Any, file: Path) -> None:
    """Refuse a slice that lacks a tag which its copy must have; a header cut short is noticed here."""
    for tag in REQUIRED:
        if header.get(tag) in (None, ""):
            raise InputRefused(f"{file}: {tag} is missing; the file is cut short or broken")


def number(dataset: Any, tag: str, file: Path) -> float:
    """Return a tag that must be a finite number."""
    value = dataset.get(tag)
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise InputRefused(f"{file}: {tag} is {value!r}; a CT image must state it") from None
    if not math.isfinite(found):
        raise InputRefused(f"{file}: {tag} is {found}; it must be finite")
    return found
