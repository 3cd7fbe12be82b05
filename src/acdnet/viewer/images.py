"""Read the slices that `acdnet reduce` wrote, in any format, one at a time."""

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
from acdnet.io.slices import Image
from acdnet.viewer.safe_read import refuse_link
from acdnet.viewer.view_model import Plane, edges

CHUNK_BYTES = 2**20
NAME = re.compile(r"\d{1,9}\.(dcm|png)", re.ASCII)


class Images(Protocol):
    """The slices of one kind, reduced or difference."""

    def __len__(self) -> int: ...

    def read(self, number: int) -> tuple[Image, Plane]: ...


def open_images(folder: Path, kind: str) -> Images:
    """Open the slices of one kind, reduced or difference."""
    directory = folder / kind
    if directory.is_dir():
        return _Files(directory)
    for ending in (".nii.gz", ".nii"):
        if (folder / f"{kind}{ending}").is_file():
            return _Nifti(folder / f"{kind}{ending}")
    if (folder / f"{kind}.npy").is_file():
        return _Array(folder / f"{kind}.npy")
    raise InputRefused(f"{folder}: {kind} is missing; both reduced and difference are needed")


class _Mapped:
    """A file that is mapped into memory. It must not change: what is read behind its new end ends the process."""

    def __init__(self, path: Path) -> None:
        self.path, self.state = path, self._state(path)

    def check(self) -> None:
        """Refuse a file that was changed or deleted after it was opened."""
        if not self.path.is_file() or self._state(self.path) != self.state:
            raise InputRefused(f"{self.path}: has changed since it was opened; open the result again")

    @staticmethod
    def _state(path: Path) -> tuple[int, int, int]:
        found = path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns


class _Files:
    """DICOM files or PNGs with running numbers for names; other files are ignored."""

    def __init__(self, directory: Path) -> None:
        files = [file for file in directory.iterdir() if NAME.fullmatch(file.name)]
        if not files:
            raise InputRefused(f"{directory}: contains no slice")
        self.files = sorted(files, key=lambda file: int(file.stem))

    def __len__(self) -> int:
        return len(self.files)

    def read(self, number: int) -> tuple[Image, Plane]:
        file = self.files[number]
        refuse_link(file)
        if file.suffix == ".png":
            from acdnet.io.arrays import read_png

            return read_png(file)[0], Plane()
        from acdnet.io.dicom.pixels import hounsfield, padding_mask, stored_pixels
        from acdnet.io.dicom.tags import plane_of, read_dataset

        try:
            dataset, _ = read_dataset(file)
            stored = stored_pixels(dataset, file)
            hu = hounsfield(dataset, stored, padding_mask(dataset, stored), file)
            rows, columns = (float(mm) for mm in dataset.PixelSpacing)
            inverted = str(dataset.PhotometricInterpretation) == "MONOCHROME1"
            quadruped = str(dataset.get("AnatomicalOrientationType") or "") == "QUADRUPED"  # uses other letters
            return hu, Plane((rows, columns), None if quadruped else edges(*plane_of(dataset, file)), inverted)
        except InputRefused:
            raise
        except Exception as error:
            raise InputRefused(f"{file}: cannot be read ({type(error).__name__})") from error


class _Array:
    """An array of HU, memory-mapped."""

    def __init__(self, path: Path) -> None:
        from acdnet.io.arrays import ArrayScan

        self.scan, self.file = ArrayScan.open(path, (1.0, 1.0)), _Mapped(path)

    def __len__(self) -> int:
        return len(self.scan)

    def read(self, number: int) -> tuple[Image, Plane]:
        self.file.check()
        return self.scan.read(number).hu, Plane()


class _Nifti:
    """A NIfTI volume, memory-mapped; a compressed volume is unpacked to an unnamed temporary file first."""

    def __init__(self, path: Path) -> None:
        from acdnet.io.nifti import axial_view, open_nifti, spacings

        volume, axes = open_nifti(path)
        kind = volume.get_data_dtype()
        if kind.kind not in "iuf":
            raise InputRefused(f"{path}: contains {kind}; a volume of numbers is needed")
        start = int(volume.dataobj.offset)
        length = int(np.prod(volume.shape, dtype=np.int64)) * kind.itemsize
        compressed = path.suffix == ".gz"
        try:
            with _unpacked(path, start, length) if compressed else path.open("rb") as file:
                voxels = np.memmap(file, kind, "r", 0 if compressed else start, volume.shape, "F")
        except (OSError, OverflowError, ValueError, EOFError, zlib.error) as error:
            raise InputRefused(f"{path}: voxels cannot be read ({error})") from error
        self.slices, self.file = axial_view(voxels, axes), None if compressed else _Mapped(path)
        self.slope, self.intercept = float(volume.dataobj.slope), float(volume.dataobj.inter)
        self.plane = Plane(spacings(volume, axes)[1:], _nifti_edges(volume, axes))

    def __len__(self) -> int:
        return len(self.slices)

    def read(self, number: int) -> tuple[Image, Plane]:
        if self.file is not None:
            self.file.check()
        hu = self.slices[number].astype(np.float64) * self.slope + self.intercept
        return np.ascontiguousarray(hu, np.float32), self.plane


def _nifti_edges(volume: Any, axes: Any) -> tuple[str, str, str, str] | None:
    """Name the edges of the axial slices; None if the header does not define the orientation."""
    if not (int(volume.header["sform_code"]) or int(volume.header["qform_code"])):
        return None
    lps = np.diag([-1.0, -1.0, 1.0]) @ volume.affine[:3, :3]
    lps = lps / np.linalg.norm(lps, axis=0)
    across, along, _ = axes
    return edges(*(lps[:, axis] * (-1.0 if forward else 1.0) for axis, forward in (across, along)))


@contextmanager
def _unpacked(path: Path, start: int, length: int) -> Iterator[IO[bytes]]:
    """Unpack voxels to a temporary file without a name, which disappears when it is closed or the process ends."""
    with _temporary_file(path.parent) as target:
        with gzip.open(path, "rb") as packed:
            packed.seek(start)
            while length and (chunk := packed.read(min(CHUNK_BYTES, length))):
                _write(target, chunk)
                length -= len(chunk)
        if length:
            raise EOFError(f"{length} bytes are missing")
        target.flush()
        yield target


def _temporary_file(folder: Path) -> IO[bytes]:
    try:
        return tempfile.TemporaryFile(dir=folder)
    except OSError:  # the folder of the result is read-only
        return tempfile.TemporaryFile()


def _write(target: IO[bytes], chunk: bytes) -> None:
    try:
        target.write(chunk)
    except OSError as error:
        raise ResourceError(f"no room to unpack a compressed volume ({error.strerror}); free disk space") from error
