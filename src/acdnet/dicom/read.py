"""Read axial CT slices from DICOM files; what cannot be trusted is refused with the tag, the value and the reason."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused
from acdnet.files import read_limited, sha256
from acdnet.slices import RawSlice, SliceRef, Source, assign_splits, pseudonym

CT_STORAGE = "1.2.840.10008.5.1.4.1.1.2"
DEFLATED = "1.2.840.10008.1.2.1.99"
LARGEST_FILE = 256 * 2**20
LARGEST_SIDE = 4096
IMPLAUSIBLE_HU = 31_000.0
IMPLAUSIBLE_SHARE = 0.01
LEAST_AXIAL = math.cos(math.radians(35.0))
"""A gantry tilts by 30 degrees at most; a plane that leans more is another one."""


def dicom_slices(path: Path) -> Source:
    """List the axial CT slices of a file or a folder; scouts, reformats and other objects are only counted."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    passed: Counter[str] = Counter()
    found: list[tuple[str, tuple[str, float, str], Path, str]] = []
    for file in files:
        if not path.is_file() and not file.resolve().is_relative_to(path.resolve()):
            passed["links that lead out of the folder"] += 1
            continue
        header = _header(file, must_be_dicom=path.is_file())
        reason = "not DICOM" if header is None else _not_a_slice(header)
        if reason:
            passed[reason] += 1
            continue
        try:
            who = pseudonym(*(str(header.get(tag, "")) for tag in ("PatientID", "PatientName", "PatientBirthDate")))
            found.append((who, _order(header, file), file, str(header.get("SOPInstanceUID", "")) or str(file)))
        except Exception as error:
            raise InputRefused(f"{file}: its tags cannot be read ({type(error).__name__})") from error
    dealt = assign_splits([who for who, *_ in found])
    slices, seen = [], dict[str, Path]()
    for who, _, file, uid in sorted(found):
        if uid in seen:
            _check_same(seen[uid], file)
            passed["copies of a slice"] += 1
            continue
        seen[uid] = file
        identity = f"{file.stat().st_size} bytes"
        name = f"{who}-{sha256(uid.encode())[:12]}"
        slices.append(SliceRef(name, who, dealt[who], partial(read_slice, file), {}, (), str(file), identity))
    return Source(slices, dict(passed))


def _order(header: Any, file: Path) -> tuple[str, float, str]:
    """Sort by series and height; a slice that does not say its height comes first."""
    position = header.get("ImagePositionPatient")
    height = float(position[2]) if position is not None and len(position) == 3 else -math.inf
    return str(header.get("SeriesInstanceUID", "")), height, file.name


def _check_same(first: Path, second: Path) -> None:
    if not np.array_equal(read_slice(first).hu, read_slice(second).hu):
        raise InputRefused(f"{second}: has the SOPInstanceUID of another file but other pixels; which one is right?")


def _header(file: Path, must_be_dicom: bool) -> Any:
    """Read the tags without the pixels; None where a folder holds something that is not DICOM."""
    import pydicom

    try:
        with file.open("rb") as stream:
            magic = stream.read(132)[128:]
    except OSError as error:
        raise InputRefused(f"{file}: cannot be read ({error.strerror})") from error
    if magic != b"DICM":
        if must_be_dicom:
            raise InputRefused(f"{file}: is not a DICOM file; DICOM, NIfTI or PNGs with an index.csv are read")
        return None
    try:
        meta = pydicom.filereader.read_file_meta_info(file)
        if str(meta.get("TransferSyntaxUID", "")) == DEFLATED:
            raise InputRefused(f"{file}: is deflated (TransferSyntaxUID); inflate it first")
        header = pydicom.dcmread(file, stop_before_pixels=True)
        if not header.get("SOPClassUID"):
            raise InputRefused(f"{file}: has no SOPClassUID; its header is cut or broken")
        return header
    except InputRefused:
        raise
    except (Exception, RecursionError) as error:
        raise InputRefused(f"{file}: is a DICOM file that cannot be read ({type(error).__name__})") from error


def _not_a_slice(header: Any) -> str:
    """Say why an object is not an axial CT slice; nothing where it is one, or where its tags cannot tell."""
    if str(header.get("SOPClassUID", "")) != CT_STORAGE:
        return "not CT images"
    try:
        kind = [str(value) for value in header.get("ImageType") or ()]
        if "LOCALIZER" in kind:
            return "scouts"
        plane = header.get("ImageOrientationPatient")
        if plane is not None and len(plane) == 6 and not _is_axial([float(value) for value in plane]):
            return "reformats in another plane"
    except Exception:
        return ""  # read_slice refuses it with the reason
    return ""


def _is_axial(plane: list[float]) -> bool:
    across, down = np.array(plane[:3]), np.array(plane[3:])
    return bool(abs(np.cross(across, down)[2]) >= LEAST_AXIAL and abs(across[0]) >= LEAST_AXIAL)


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
        if stored.ndim != 2:
            raise InputRefused(f"{file}: its pixels have the shape {stored.shape}; a slice is one picture")
        hu = _hounsfield(dataset, stored)
        rows, columns = (float(mm) for mm in dataset.PixelSpacing)
    except InputRefused:
        raise
    except (Exception, RecursionError) as error:
        raise InputRefused(f"{file}: its pixels cannot be read ({type(error).__name__}: {error})") from error
    if float(np.mean(hu > IMPLAUSIBLE_HU)) > IMPLAUSIBLE_SHARE:
        raise InputRefused(f"{file}: implausible HU range up to {hu.max():g}; is PixelRepresentation wrong?")
    return RawSlice(hu, (rows, columns), sha256(data))


def _hounsfield(dataset: Any, stored: NDArray[Any]) -> NDArray[np.float32]:
    """Apply the rescale; padding becomes air."""
    hu = stored.astype(np.float64) * float(dataset.RescaleSlope) + float(dataset.RescaleIntercept)
    padding = dataset.get("PixelPaddingValue")
    if isinstance(padding, int):
        limit = dataset.get("PixelPaddingRangeLimit", padding)
        low, high = sorted((padding, limit if isinstance(limit, int) else padding))
        hu[(stored >= low) & (stored <= high)] = -1000.0
    return hu.astype(np.float32)


def _check(dataset: Any, file: Path) -> None:
    """Refuse a slice whose tags leave its meaning open."""
    if reason := _not_a_slice(dataset):
        raise InputRefused(f"{file}: is not an axial CT image ({reason})")
    plane = dataset.get("ImageOrientationPatient")
    if plane is None or len(plane) != 6:
        raise InputRefused(f"{file}: ImageOrientationPatient is {plane}; how the slice lies must be known")
    if not _is_axial([float(value) for value in plane]):
        raise InputRefused(f"{file}: ImageOrientationPatient is {plane}; the slice is not axial")
    rows, columns = _number(dataset, "Rows", file), _number(dataset, "Columns", file)
    if not (1 <= rows <= LARGEST_SIDE and 1 <= columns <= LARGEST_SIDE):
        raise InputRefused(f"{file}: Rows x Columns is {rows:g} x {columns:g}; {LARGEST_SIDE} is the most")
    if dataset.get("SamplesPerPixel", 1) != 1 or not str(dataset.get("PhotometricInterpretation", "")).startswith(
        "MONO"
    ):
        raise InputRefused(f"{file}: is a colour image (PhotometricInterpretation)")
    if int(dataset.get("NumberOfFrames") or 1) != 1:
        raise InputRefused(f"{file}: has several frames (NumberOfFrames); only single slices are read")
    if not 0 < _number(dataset, "RescaleSlope", file) <= 1e3:
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
