"""Open a scan in any supported format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from acdnet.errors import ConfigError, InputRefused
from acdnet.io.dicom.plain import START_BYTES, has_preamble, is_plain
from acdnet.io.scan import Scan
from acdnet.limits import check_pixel_mm


@dataclass(frozen=True)
class Opening:
    """Options for opening a scan."""

    series: int | None = None
    """Series of a folder, from 1."""
    pixel_mm: float | None = None
    """Pixel size of arrays and PNGs, which do not store it."""
    any_plane: bool = False
    accept_lossy: bool = False
    files: tuple[Path, ...] = ()
    """The files of a DICOM series, if it is not the whole folder."""


def open_scan(path: Path | str, how: Opening | None = None) -> Scan:
    """Open a DICOM folder or file, a NIfTI volume, an array or PNGs."""
    path, how = Path(path), how or Opening()
    if not path.exists():
        raise InputRefused(f"{path}: no such file or folder")
    name = path.name.lower()
    if path.is_file() and name.endswith((".nii", ".nii.gz")):
        from acdnet.io.nifti import NiftiScan
        from acdnet.io.nifti_checks import check_geometry

        volume = NiftiScan(path)
        check_geometry(path, volume.volume.affine, how.any_plane)
        check_pixel_mm(volume.spacing_mm, f"{path}: the pixel size")
        return volume
    if path.is_file() and name.endswith(".npy"):
        from acdnet.io.arrays import ArrayScan

        mm = _pixel_mm(path, how)
        return ArrayScan.open(path, (mm, mm))
    if (path.is_file() and name.endswith(".png")) or (path.is_dir() and not how.files and _is_png_folder(path)):
        from acdnet.io.arrays import PngScan

        mm = _pixel_mm(path, how)
        return PngScan(path, (mm, mm))
    from acdnet.io.dicom.scan import DicomScan
    from acdnet.io.dicom.series import check_not_ours

    scan = DicomScan(path, how.series, how.any_plane, how.accept_lossy, how.files)
    check_not_ours(scan.series)
    return scan


def _is_png_folder(folder: Path) -> bool:
    """Return whether a folder contains PNGs and no DICOM; a DICOM folder may contain thumbnails."""
    from acdnet.io.dicom.tags import CT_STORAGE

    files = [file for file in folder.iterdir() if file.is_file()]
    if not any(file.suffix.lower() == ".png" for file in files):
        return False
    for file in files:
        with file.open("rb") as opened:
            start = opened.read(START_BYTES)
            if has_preamble(start) or is_plain(start, CT_STORAGE):
                return False
    return True


def _pixel_mm(path: Path, how: Opening) -> float:
    if how.pixel_mm is None:
        raise ConfigError(f"{path}: the pixel size is unknown; give it with --pixel-mm")
    check_pixel_mm((how.pixel_mm,), f"{path}: --pixel-mm")
    return how.pixel_mm
