"""NIfTI volumes: axial slices for any axis order, written back with an unchanged header."""

from __future__ import annotations

import gzip
import math
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused
from acdnet.io.nifti_checks import check_header, check_packed
from acdnet.io.scan import DIFFERENCE, REDUCED, SHORT_NOTICE, Provenance, to_stored
from acdnet.io.slices import Change, Image, Slice
from acdnet.messages import quoted

ENDINGS = (".nii", ".nii.gz")
DESCRIPTION_OFFSETS = {348: 148, 540: 240}
"""Offset of the 80-character description by header size: NIfTI-1 and NIfTI-2."""

Axes = tuple[tuple[int, bool], tuple[int, bool], tuple[int, bool]]
"""For right, anterior and superior: the array axis, and whether it runs in that direction."""


def is_nifti(path: Path) -> bool:
    """Return whether a file has the name of a NIfTI volume."""
    return path.name.lower().endswith(ENDINGS) and not path.name.startswith(".")


def open_nifti(path: Path) -> tuple[Any, Axes]:
    """Open a volume without reading its voxels, and find its axes."""
    import nibabel

    check_header(path)
    try:
        volume: Any = nibabel.load(path)
        if math.prod(volume.shape) * volume.get_data_dtype().itemsize == 0:
            raise InputRefused(f"{path}: has no voxels")
        orientation = nibabel.io_orientation(volume.affine)
    except (InputRefused, MemoryError):
        raise
    except Exception as error:
        raise InputRefused(f"{path}: is not a readable NIfTI volume ({quoted(error)})") from error
    if not np.isfinite(orientation).all():
        raise InputRefused(f"{path}: its affine does not define an orientation")
    axes = {int(along): (axis, direction > 0) for axis, (along, direction) in enumerate(orientation)}
    return volume, (axes[0], axes[1], axes[2])


def axial_view(voxels: NDArray[Any], axes: Axes) -> NDArray[Any]:
    """View an array as slices from inferior to superior, rows anterior to posterior, columns right to left."""
    across, along, up = axes
    view = voxels.transpose(up[0], along[0], across[0])
    return view[:: 1 if up[1] else -1, :: -1 if along[1] else 1, :: -1 if across[1] else 1]


def spacings(volume: Any, axes: Axes) -> tuple[float, float, float]:
    """Return slice, row and column spacing in mm."""
    zooms = [float(mm) for mm in volume.header.get_zooms()[:3]]
    across, along, up = axes
    return zooms[up[0]], zooms[along[0]], zooms[across[0]]


def check_voxels(path: Path, volume: Any) -> None:
    """Refuse a compressed volume that is damaged or has another size than its header claims."""
    size = math.prod(volume.shape) * volume.get_data_dtype().itemsize
    check_packed(path, int(volume.dataobj.offset) + size)


@lru_cache(maxsize=1)
def whole(path: Path, changed: int) -> NDArray[Any]:  # noqa: ARG001 the modification time is part of the cache key
    """Read a whole volume; a compressed file cannot be read slice by slice."""
    volume, _ = open_nifti(path)
    check_voxels(path, volume)
    return np.asarray(volume.dataobj)


class NiftiScan:
    """One volume."""

    kind = "nifti"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.volume, self.axes = open_nifti(path)
        check_voxels(path, self.volume)
        try:
            self.raw = np.asarray(self.volume.dataobj.get_unscaled())
        except MemoryError:
            raise
        except Exception as error:
            raise InputRefused(f"{path}: voxels cannot be read ({quoted(error)})") from error
        if self.raw.dtype.kind not in "iuf":
            raise InputRefused(f"{path}: contains {self.raw.dtype}; a volume of numbers is needed")
        self.slope, self.intercept = float(self.volume.dataobj.slope), float(self.volume.dataobj.inter)
        if not (np.isfinite([self.slope, self.intercept]).all() and self.slope > 0):
            raise InputRefused(f"{path}: scl_slope is {self.slope}; it must be positive")
        self.slices = axial_view(self.raw, self.axes)
        step, rows, columns = spacings(self.volume, self.axes)
        self.spacing_mm = (rows, columns)
        self.heights: list[float | None] = [n * step for n in range(len(self.slices))]
        self.warnings: list[str] = []
        self.skipped: dict[str, int] = {}
        size = " x ".join(str(side) for side in self.slices.shape)
        self.about = {"volume": f"{size}, {rows:.3g} x {columns:.3g} mm"}

    def __len__(self) -> int:
        return len(self.slices)

    def read(self, number: int) -> Slice:
        stored = np.ascontiguousarray(self.slices[number])
        hu = (stored.astype(np.float64) * self.slope + self.intercept).astype(np.float32)
        step = self.slope if self.raw.dtype.kind in "iu" else 0.0
        return Slice(hu, self.spacing_mm, np.zeros(hu.shape, bool), self._ceiling(), step)

    def _ceiling(self) -> float:
        largest = np.iinfo(self.raw.dtype).max if self.raw.dtype.kind in "iu" else np.finfo(np.float32).max
        return float(largest) * self.slope + self.intercept

    def writer(self, folder: Path, provenance: Provenance) -> NiftiWriter:
        return NiftiWriter(self, folder, provenance)


class NiftiWriter:
    """Writes the volume with its original header and changed voxels, and the difference in HU."""

    def __init__(self, scan: NiftiScan, folder: Path, provenance: Provenance) -> None:  # noqa: ARG002
        self.scan, self.folder = scan, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.voxels = np.array(scan.raw, order="F")
        self.view = axial_view(self.voxels, scan.axes)
        self.difference = np.zeros(scan.raw.shape, np.int16, order="F")
        self.changes = axial_view(self.difference, scan.axes)

    def write(self, number: int, change: Change | None) -> Image | None:
        if change is None:
            return None
        scan, before = self.scan, self.scan.slices[number]
        hu = (before.astype(np.float64) * scan.slope + scan.intercept).astype(np.float32)
        if scan.raw.dtype.kind == "f":
            after = (np.where(np.isfinite(hu), hu.astype(np.float64) + change, change) - scan.intercept) / scan.slope
            stored: NDArray[Any] = np.where(change != 0, after, before).astype(scan.raw.dtype)
        else:
            limits = np.iinfo(scan.raw.dtype)
            stored = to_stored(before, hu, change, scan.slope, scan.intercept, (int(limits.min), int(limits.max)))
        written = np.asarray((stored.astype(np.float64) - before) * scan.slope, np.float32)
        self.view[number] = stored
        self.changes[number] = np.clip(np.rint(np.nan_to_num(written)), -32768, 32767)
        return written

    def close(self) -> list[Path]:
        import nibabel

        ending = ".nii.gz" if self.scan.path.name.lower().endswith(".gz") else ".nii"
        paths = [self.folder / f"{kind}{ending}" for kind in (REDUCED, DIFFERENCE)]
        header = bytearray(_header_bytes(self.scan.path, int(self.scan.volume.dataobj.offset)))
        start = DESCRIPTION_OFFSETS[int(self.scan.volume.header["sizeof_hdr"])]
        header[start : start + 80] = SHORT_NOTICE.encode().ljust(80, b"\0")
        with paths[0].open("wb") as file:
            target: Any = gzip.GzipFile("", "wb", 6, file, mtime=0) if ending == ".nii.gz" else file
            target.write(bytes(header))
            for plane in self.voxels.astype(self.scan.volume.get_data_dtype(), copy=False).T:  # in file order
                target.write(np.ascontiguousarray(plane).data)
            if target is not file:
                target.close()
        image: Any = nibabel.Nifti1Image(self.difference, self.scan.volume.affine)
        image.header["descrip"] = SHORT_NOTICE
        image.header.set_xyzt_units("mm")
        image.to_filename(paths[1])
        for written, voxels in zip(paths, (self.voxels, self.difference), strict=True):
            again = NiftiScan(written)
            same = np.array_equal(again.raw, voxels, equal_nan=voxels.dtype.kind == "f")
            if not same or not np.allclose(again.volume.affine, self.scan.volume.affine):
                raise InputRefused(f"{self.scan.path}: its header leads to a result that reads as something else")
        return paths


def _header_bytes(path: Path, count: int) -> bytes:
    """Return the bytes before the voxels: header and extensions."""
    if path.name.lower().endswith(".gz"):
        with gzip.open(path, "rb") as packed:
            return packed.read(count)
    with path.open("rb") as file:
        return file.read(count)
