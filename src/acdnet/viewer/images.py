"""The slices that `acdnet reduce` wrote, whatever their format; none is held in memory as a whole."""

from __future__ import annotations

import gzip
import re
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from acdnet.errors import InputRefused, ResourceError
from acdnet.viewer.layer import Image, Plane, edges

PART = 2**20
NAME = re.compile(r"\d{1,9}\.(dcm|png)", re.ASCII)


class Images(Protocol):
    """Slices of one kind."""

    def __len__(self) -> int: ...

    def read(self, number: int) -> tuple[Image, Plane]: ...


def open_images(folder: Path, kind: str) -> Images:
    """Open the slices of one kind."""
    place = folder / kind
    if place.is_dir():
        return _Files(place)
    for ending in (".nii.gz", ".nii"):
        if (folder / f"{kind}{ending}").is_file():
            return _Nifti(folder / f"{kind}{ending}")
    if (folder / f"{kind}.npy").is_file():
        return _Array(folder / f"{kind}.npy")
    raise InputRefused(f"{folder}: {kind} is missing; before and after cannot be compared")


class _Files:
    """DICOM files or PNGs: named by running numbers. What has another name is not ours."""

    def __init__(self, place: Path) -> None:
        files = [file for file in place.iterdir() if NAME.fullmatch(file.name)]
        if not files:
            raise InputRefused(f"{place}: holds no slice")
        self.files = sorted(files, key=lambda file: int(file.stem))

    def __len__(self) -> int:
        return len(self.files)

    def read(self, number: int) -> tuple[Image, Plane]:
        file = self.files[number]
        if file.suffix == ".png":
            from acdnet.scans.arrays import read_png

            return read_png(file)[0], Plane()
        from acdnet.dicom.pixels import hounsfield, padding_mask, stored_pixels
        from acdnet.dicom.tags import plane_of, read_dataset

        try:
            dataset, _ = read_dataset(file)
            stored = stored_pixels(dataset, file)
            hu = hounsfield(dataset, stored, padding_mask(dataset, stored), file)
            rows, columns = (float(mm) for mm in dataset.PixelSpacing)
            inverted = str(dataset.PhotometricInterpretation) == "MONOCHROME1"
            animal = str(dataset.get("AnatomicalOrientationType") or "") == "QUADRUPED"  # which has other letters
            return hu, Plane((rows, columns), None if animal else edges(*plane_of(dataset, file)), inverted)
        except InputRefused:
            raise
        except Exception as error:
            raise InputRefused(f"{file}: cannot be read ({type(error).__name__})") from error


class _Array:
    """An array of HU, read from its file slice by slice."""

    def __init__(self, path: Path) -> None:
        from acdnet.scans.arrays import ArrayScan

        self.scan = ArrayScan.open(path, (1.0, 1.0))

    def __len__(self) -> int:
        return len(self.scan)

    def read(self, number: int) -> tuple[Image, Plane]:
        return self.scan.read(number).hu, Plane()


class _Nifti:
    """A NIfTI volume, read from its file slice by slice; a packed one from a file without a name."""

    def __init__(self, path: Path) -> None:
        from acdnet.scans.nifti import axial_view, open_nifti, spacings

        volume, axes = open_nifti(path)
        kind = volume.get_data_dtype()
        if kind.kind not in "iuf":
            raise InputRefused(f"{path}: holds {kind}; numbers are needed")
        start = int(volume.dataobj.offset)
        length = int(np.prod(volume.shape, dtype=np.int64)) * kind.itemsize
        try:
            with _unpacked(path, start, length) if path.suffix == ".gz" else path.open("rb") as file:
                where = 0 if path.suffix == ".gz" else start
                voxels = np.memmap(file, kind, "r", where, volume.shape, "F")
        except (OSError, ValueError, EOFError, zlib.error) as error:
            raise InputRefused(f"{path}: its voxels cannot be read ({error})") from error
        self.slices = axial_view(voxels, axes)
        self.slope, self.intercept = float(volume.dataobj.slope), float(volume.dataobj.inter)
        self.plane = Plane(spacings(volume, axes)[1:], _nifti_edges(volume, axes))

    def __len__(self) -> int:
        return len(self.slices)

    def read(self, number: int) -> tuple[Image, Plane]:
        hu = self.slices[number].astype(np.float64) * self.slope + self.intercept
        return np.ascontiguousarray(hu, np.float32), self.plane


def _nifti_edges(volume: Any, axes: Any) -> tuple[str, str, str, str] | None:
    """Name the edges of the slices, which go from right to left and from front to back; None where no code says so."""
    if not (int(volume.header["sform_code"]) or int(volume.header["qform_code"])):
        return None
    lps = np.diag([-1.0, -1.0, 1.0]) @ volume.affine[:3, :3]
    lps = lps / np.linalg.norm(lps, axis=0)
    across, along, _ = axes
    return edges(*(lps[:, axis] * (-1.0 if runs else 1.0) for axis, runs in (across, along)))


@contextmanager
def _unpacked(path: Path, start: int, length: int) -> Iterator[IO[bytes]]:
    """Unpack voxels into a file that nobody else sees, and that is gone when it is closed or the program killed."""
    with _nameless(path.parent) as target:
        with gzip.open(path, "rb") as packed:
            packed.seek(start)
            while length and (part := packed.read(min(PART, length))):
                _write(target, part)
                length -= len(part)
        if length:
            raise EOFError(f"{length} bytes are missing")
        target.flush()
        yield target


def _nameless(folder: Path) -> IO[bytes]:
    try:
        return tempfile.TemporaryFile(dir=folder)
    except OSError:
        return tempfile.TemporaryFile()  # the result may lie where nothing can be written


def _write(target: IO[bytes], part: bytes) -> None:
    try:
        target.write(part)
    except OSError as error:
        raise ResourceError(f"a packed volume cannot be unpacked to look at it ({error.strerror})") from error
