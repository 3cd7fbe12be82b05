"""List and read the axial CT slices of a folder as training data."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from acdnet.data.slices import SliceRef, Source, assign_splits, pseudonym
from acdnet.errors import InputRefused
from acdnet.files import sha256
from acdnet.io.dicom.pixels import hounsfield, padding_mask, stored_pixels
from acdnet.io.dicom.tags import check_slice, is_axial, plane_of, read_dataset, read_header, why_no_slice
from acdnet.io.slices import Slice


def dicom_slices(path: Path) -> Source:
    """List the axial CT slices of a file or folder; count scouts, reformats and other objects."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    passed: Counter[str] = Counter()
    found: list[tuple[str, tuple[str, float, str], Path, str]] = []
    for file in files:
        if not path.is_file() and not file.resolve().is_relative_to(path.resolve()):
            passed["links out of the folder"] += 1
            continue
        header = read_header(file, must_be_dicom=path.is_file())
        reason = "not DICOM" if header is None else _why_not_here(header, file)
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
    for who, (series, height, _), file, uid in sorted(found):
        if uid in seen:
            _check_same(seen[uid], file)
            passed["copies of a slice"] += 1
            continue
        seen[uid] = file
        identity = f"{file.stat().st_size} bytes"
        name = f"{who}-{sha256(uid.encode())[:12]}"
        z, stack = (height, sha256(series.encode())[:12]) if math.isfinite(height) else (None, "")
        read = partial(read_slice, file)
        slices.append(SliceRef(name, who, dealt[who], read, {}, (), str(file), identity, stack, z))
    return Source(slices, dict(passed))


def _why_not_here(header: Any, file: Path) -> str:
    """Return why an object cannot be used; empty if it can."""
    if reason := why_no_slice(header):
        return reason
    try:
        return "" if is_axial(*plane_of(header, file)) else "reformats in another plane"
    except Exception:
        return ""  # read_slice reports the error


def _order(header: Any, file: Path) -> tuple[str, float, str]:
    """Return the sort key: series and height; slices without height come first."""
    position = header.get("ImagePositionPatient")
    height = float(position[2]) if position is not None and len(position) == 3 else -math.inf
    return str(header.get("SeriesInstanceUID", "")), height, file.name


def _check_same(first: Path, second: Path) -> None:
    if not np.array_equal(read_slice(first).hu, read_slice(second).hu):
        raise InputRefused(f"{second}: has the SOPInstanceUID of another file but other pixels; remove one of them")


def read_slice(file: Path) -> Slice:
    """Read one slice in HU."""
    try:
        dataset, data = read_dataset(file)
        check_slice(dataset, file)
        stored = stored_pixels(dataset, file)
        hu = hounsfield(dataset, stored, padding_mask(dataset, stored), file)
        rows, columns = (float(mm) for mm in dataset.PixelSpacing)
    except InputRefused:
        raise
    except (Exception, RecursionError) as error:
        raise InputRefused(f"{file}: its pixels cannot be read ({type(error).__name__}: {error})") from error
    return Slice(hu, (rows, columns), sha256=sha256(data))
