"""Read axial CT slices from DICOM files; what cannot be trusted is refused with the tag, the value and the reason."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused
from acdnet.files import read_limited, sha256
from acdnet.slices import RawSlice, SliceRef, assign_splits, pseudonym

CT_STORAGE = "1.2.840.10008.5.1.4.1.1.2"
DEFLATED = "1.2.840.10008.1.2.1.99"
LARGEST_FILE = 256 * 2**20
LARGEST_SIDE = 4096
IMPLAUSIBLE_HU = 31_000.0
IMPLAUSIBLE_SHARE = 0.01


def dicom_slices(path: Path) -> list[SliceRef]:
    """List the axial CT slices of a file or a folder; other objects and scouts are passed over."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    found: list[tuple[Path, Any]] = []
    for file in files:
        header = _header(file, must_be_dicom=path.is_file())
        if header is not None and _is_slice(header):
            found.append((file, header))
    patients = [pseudonym(str(header.get("PatientID") or header.get("StudyInstanceUID", ""))) for _, header in found]
    dealt = assign_splits(patients)
    slices, seen = [], set()
    for patient, (file, header) in sorted(zip(patients, found, strict=True), key=lambda item: _order(*item)):
        uid = str(header.get("SOPInstanceUID", ""))
        if uid in seen:
            continue
        seen.add(uid)
        slices.append(SliceRef(f"{patient}-{pseudonym(uid)}", patient, dealt[patient], partial(read_slice, file)))
    return slices


def _order(patient: str, found: tuple[Path, Any]) -> tuple[str, str, float, str]:
    file, header = found
    position = header.get("ImagePositionPatient") or (0, 0, 0)
    return patient, str(header.get("SeriesInstanceUID", "")), float(position[2]), file.name


def _header(file: Path, must_be_dicom: bool) -> Any:
    """Read the tags without the pixels; None where a folder holds something that is not DICOM."""
    import pydicom

    with file.open("rb") as stream:
        if stream.read(132)[128:] != b"DICM":
            if must_be_dicom:
                raise InputRefused(f"{file}: is not a DICOM file")
            return None
    try:
        meta = pydicom.filereader.read_file_meta_info(file)
        if str(meta.get("TransferSyntaxUID", "")) == DEFLATED:
            raise InputRefused(f"{file}: is deflated (TransferSyntaxUID); inflate it first")
        return pydicom.dcmread(file, stop_before_pixels=True)
    except InputRefused:
        raise
    except (Exception, RecursionError) as error:
        raise InputRefused(f"{file}: is a DICOM file that cannot be read ({type(error).__name__})") from error


def _is_slice(header: Any) -> bool:
    kind = [str(value) for value in header.get("ImageType") or ()]
    return str(header.get("SOPClassUID", "")) == CT_STORAGE and "LOCALIZER" not in kind


def read_slice(file: Path) -> RawSlice:
    """Read one slice in HU."""
    import pydicom
    from pydicom.filebase import DicomBytesIO

    data = read_limited(file, LARGEST_FILE)
    _header(file, must_be_dicom=True)
    try:
        dataset = pydicom.dcmread(DicomBytesIO(data))
        _check(dataset, file)
        stored = dataset.pixel_array
    except InputRefused:
        raise
    except (Exception, RecursionError) as error:
        raise InputRefused(f"{file}: its pixels cannot be read ({type(error).__name__}: {error})") from error
    hu = _hounsfield(dataset, stored)
    if float(np.mean(hu > IMPLAUSIBLE_HU)) > IMPLAUSIBLE_SHARE:
        raise InputRefused(f"{file}: implausible HU range up to {hu.max():g}; is PixelRepresentation wrong?")
    rows, columns = (float(mm) for mm in dataset.PixelSpacing)
    return RawSlice(hu, (rows, columns), sha256(data))


def _hounsfield(dataset: Any, stored: NDArray[Any]) -> NDArray[np.float32]:
    """Apply the rescale; padding becomes air."""
    hu = stored.astype(np.float64) * float(dataset.RescaleSlope) + float(dataset.RescaleIntercept)
    padding = dataset.get("PixelPaddingValue")
    if padding is not None:
        limit = dataset.get("PixelPaddingRangeLimit", padding)
        low, high = sorted((int(padding), int(limit)))
        hu[(stored >= low) & (stored <= high)] = -1000.0
    return hu.astype(np.float32)


def _check(dataset: Any, file: Path) -> None:
    """Refuse a slice whose tags leave its meaning open."""
    if not _is_slice(dataset):
        raise InputRefused(f"{file}: is not an axial CT image (SOPClassUID {dataset.get('SOPClassUID')})")
    rows, columns = _number(dataset, "Rows", file), _number(dataset, "Columns", file)
    if not (1 <= rows <= LARGEST_SIDE and 1 <= columns <= LARGEST_SIDE):
        raise InputRefused(f"{file}: Rows x Columns is {rows:g} x {columns:g}; {LARGEST_SIDE} is the most")
    if dataset.get("SamplesPerPixel", 1) != 1 or not str(dataset.get("PhotometricInterpretation", "")).startswith(
        "MONO"
    ):
        raise InputRefused(f"{file}: is a colour image (PhotometricInterpretation)")
    if int(dataset.get("NumberOfFrames") or 1) != 1:
        raise InputRefused(f"{file}: has several frames (NumberOfFrames); only single slices are read")
    if _number(dataset, "RescaleSlope", file) <= 0 or _number(dataset, "RescaleSlope", file) > 1e3:
        raise InputRefused(f"{file}: RescaleSlope is {dataset.RescaleSlope}; HU need a positive one")
    _number(dataset, "RescaleIntercept", file)
    spacing = dataset.get("PixelSpacing")
    if spacing is None or len(spacing) != 2 or not all(math.isfinite(float(mm)) and float(mm) > 0 for mm in spacing):
        raise InputRefused(f"{file}: PixelSpacing is {spacing}; the size of pixels must be known")
    if "PixelData" not in dataset:
        raise InputRefused(f"{file}: has no PixelData")


def _number(dataset: Any, tag: str, file: Path) -> float:
    value = dataset.get(tag)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputRefused(f"{file}: {tag} is {value!r}; a CT image must state it") from None
    if not math.isfinite(number):
        raise InputRefused(f"{file}: {tag} is {number}; it must be finite")
    return number
