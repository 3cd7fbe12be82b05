"""Open whatever a user points at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from acdnet.errors import ConfigError, InputRefused
from acdnet.scans.scan import Scan


@dataclass(frozen=True)
class Opening:
    """What a user says about a scan."""

    series: int | None = None
    """Which series of a folder, from 1."""
    pixel_mm: float | None = None
    """For arrays and PNGs, which do not say."""
    any_plane: bool = False
    accept_lossy: bool = False


def open_scan(path: Path, how: Opening) -> Scan:
    """Open a DICOM folder or file, a NIfTI volume, an array or PNGs."""
    if not path.exists():
        raise InputRefused(f"{path}: no such file or folder")
    name = path.name.lower()
    if path.is_file() and name.endswith((".nii", ".nii.gz")):
        from acdnet.scans.nifti import NiftiScan

        return NiftiScan(path)
    if path.is_file() and name.endswith(".npy"):
        from acdnet.scans.arrays import ArrayScan

        mm = _pixel_mm(path, how)
        return ArrayScan.open(path, (mm, mm))
    if (path.is_file() and name.endswith(".png")) or (path.is_dir() and _is_of_pictures(path)):
        from acdnet.scans.arrays import PngScan

        mm = _pixel_mm(path, how)
        return PngScan(path, (mm, mm))
    from acdnet.dicom.series import check_not_ours
    from acdnet.scans.dicom import DicomScan

    scan = DicomScan(path, how.series, how.any_plane, how.accept_lossy)
    check_not_ours(scan.series)
    return scan


def _is_of_pictures(folder: Path) -> bool:
    """Tell whether a folder holds PNGs and no DICOM: that may have any name, and a thumbnail beside it."""
    files = [file for file in folder.iterdir() if file.is_file()]
    if not any(file.suffix.lower() == ".png" for file in files):
        return False
    for file in files:
        with file.open("rb") as opened:
            if opened.read(132)[128:] == b"DICM":
                return False
    return True


def _pixel_mm(path: Path, how: Opening) -> float:
    if how.pixel_mm is None:
        raise ConfigError(f"{path}: does not say how large its pixels are; say it with --pixel-mm")
    return how.pixel_mm
