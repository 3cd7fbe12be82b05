"""A DICOM series as a scan."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused, NeedsChoice
from acdnet.files import sha256
from acdnet.io.dicom.bounds import readable
from acdnet.io.dicom.derive import Origin, derive, set_difference, set_pixels
from acdnet.io.dicom.pixels import (
    hounsfield,
    is_lossy,
    padding_mask,
    padding_range,
    stored_limits,
    stored_pixels,
    stored_words,
)
from acdnet.io.dicom.series import Series, SeriesIndex, choose, find_series
from acdnet.io.dicom.tags import check_complete, check_slice, plane_of, read_dataset, read_header
from acdnet.io.scan import DIFFERENCE, REDUCED, Provenance, to_stored
from acdnet.io.slices import Change, Image, Slice

COMPARED = ("SOPInstanceUID", "Rows", "Columns", "BitsStored", "PixelRepresentation", "PixelData")
"""Tags of a written file that are read again."""
LAST_COMMAND_GROUP = 6


class DicomScan:
    """One series of a folder."""

    kind = "dicom"

    def __init__(
        self,
        path: Path,
        wanted: int | None = None,
        any_plane: bool = False,
        accept_lossy: bool = False,
        files: Sequence[Path] = (),
    ) -> None:
        self.path, self.any_plane, self.accept_lossy = path, any_plane, accept_lossy
        self.index: SeriesIndex = find_series(path, files)
        self.series: Series = choose(self.index, path, wanted, any_plane)
        self.warnings, self.skipped = list(self.series.warnings), self.index.skipped
        self.heights: list[float | None] = [part.height for part in self.series.slices]
        self.about = {"series": self.series.title, "series_sha256": self.series.key}

    def __len__(self) -> int:
        return len(self.series.slices)

    def read(self, number: int) -> Slice:
        dataset, _, stored = self.load(number)
        file = self.series.slices[number].file
        with readable(file):
            padding = padding_mask(dataset, stored)
            hu = hounsfield(dataset, stored, padding, file)
            rows, columns = (float(mm) for mm in dataset.PixelSpacing)
            ceiling = stored_limits(dataset)[1] * float(dataset.RescaleSlope) + float(dataset.RescaleIntercept)
            return Slice(hu, (rows, columns), padding, ceiling, float(dataset.RescaleSlope))

    def patient_axes(self, number: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the position of the first pixel and the steps to the next row and column, in mm, LPS."""
        header, file = read_header(self.series.slices[number].file, True), self.series.slices[number].file
        with readable(file):
            across, down = plane_of(header, file)
            rows, columns = (float(mm) for mm in header.PixelSpacing)
            return np.array([float(value) for value in header.ImagePositionPatient]), down * rows, across * columns

    def load(self, number: int) -> tuple[Any, str, NDArray[Any]]:
        """Read a slice: its data set, the hash of its file, and its stored values; refuse ambiguous tags."""
        file = self.series.slices[number].file
        with readable(file):
            dataset, data = read_dataset(file)
            check_slice(dataset, file, self.any_plane)
            check_complete(dataset, file)
            if is_lossy(dataset) and not self.accept_lossy:
                problem = f"{file}: is lossy compressed (LossyImageCompression)"
                raise NeedsChoice(problem, NeedsChoice.LOSSY, "; use --accept-lossy to accept it")
            return dataset, sha256(data), stored_pixels(dataset, file)

    def writer(self, folder: Path, provenance: Provenance) -> DicomWriter:
        return DicomWriter(self, folder, provenance)


class DicomWriter:
    """Writes the reduced and the difference series; files have running numbers for names."""

    def __init__(self, scan: DicomScan, folder: Path, provenance: Provenance) -> None:
        self.scan, self.folders = scan, {kind: folder / kind for kind in (REDUCED, DIFFERENCE)}
        for place in self.folders.values():
            place.mkdir(parents=True, exist_ok=True)
        self.provenance = provenance

    def write(self, number: int, change: Change | None) -> Image | None:
        file = self.scan.series.slices[number].file
        source, content, before = self.scan.load(number)
        with readable(file):
            origin = Origin.of(source, content)
            words = stored_words(source, before)
            fixed = padding_mask(source, before)
            slope, intercept = float(source.RescaleSlope), float(source.RescaleIntercept)
            stored, written = before, None
            if change is not None:
                hu = before * slope + intercept
                stored = to_stored(before, hu.astype(np.float32), change, slope, intercept, stored_limits(source))
                stored = np.where(fixed, before, _avoid_padding(source, stored))
                written = ((stored - before) * slope).astype(np.float32)
            derive(source, origin, REDUCED, self.provenance, change is not None)
            set_pixels(source, np.where(stored == before, words, stored))
            reduced = _encoded(source, file)
            derive(source, origin, DIFFERENCE, self.provenance, change is not None)
            set_difference(source, np.zeros(before.shape, np.float32) if written is None else written)
            difference = _encoded(source, file)
        for kind, data in ((REDUCED, reduced), (DIFFERENCE, difference)):
            (self.folders[kind] / f"{number + 1:04d}.dcm").write_bytes(data)
        return written

    def close(self) -> list[Path]:
        return list(self.folders.values())


def _written(dataset: Any) -> set[Any]:
    """Return the tags that are written: all but the retired lengths of groups."""
    return {tag for tag in list(dataset.keys()) if tag.element != 0 or tag.group <= LAST_COMMAND_GROUP}


def _encoded(dataset: Any, file: Path) -> bytes:
    """Return a data set as a file, which was opened again and compared."""
    import pydicom

    buffer = BytesIO()
    pydicom.dcmwrite(buffer, dataset, enforce_file_format=True)
    data = buffer.getvalue()
    again = pydicom.dcmread(BytesIO(data))
    if any(again.get(tag) != dataset.get(tag) for tag in COMPARED) or set(again.keys()) != _written(dataset):
        raise InputRefused(f"{file}: has tags that no DICOM file can hold; its copy reads as something else")
    return data


def _avoid_padding(source: Any, stored: NDArray[np.int64]) -> NDArray[np.int64]:
    """Move new values out of the padding range, so that no pixel looks like padding."""
    padding = padding_range(source)
    if padding is None:
        return stored
    low, high = padding
    smallest, largest = stored_limits(source)
    outside = high + 1 if high < largest else low - 1
    hit = (stored >= low) & (stored <= high)
    return np.where(hit, np.clip(outside, smallest, largest), stored)
