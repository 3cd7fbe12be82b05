"""A DICOM series as a scan."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet import __version__
from acdnet.dicom.derive import Derived, Origin, derive, set_difference, set_pixels
from acdnet.dicom.pixels import (
    hounsfield,
    is_lossy,
    padding_mask,
    padding_range,
    stored_limits,
    stored_pixels,
    stored_words,
)
from acdnet.dicom.series import Found, Series, choose, find_series
from acdnet.dicom.tags import check_complete, check_slice, plane_of, read_dataset, read_header
from acdnet.errors import InputRefused, NeedsChoice
from acdnet.files import sha256
from acdnet.scans.scan import DIFFERENCE, REDUCED, Provenance, ScanSlice, to_stored


class DicomScan:
    """One series of a folder."""

    kind = "dicom"

    def __init__(
        self, path: Path, wanted: int | None = None, any_plane: bool = False, accept_lossy: bool = False
    ) -> None:
        self.path, self.any_plane, self.accept_lossy = path, any_plane, accept_lossy
        self.found: Found = find_series(path)
        self.series: Series = choose(self.found, path, wanted, any_plane)
        self.warnings, self.skipped = list(self.series.warnings), self.found.skipped
        self.heights: list[float | None] = [part.height for part in self.series.slices]
        self.about = {"series": self.series.title, "series_sha256": self.series.key}

    def __len__(self) -> int:
        return len(self.series.slices)

    def read(self, number: int) -> ScanSlice:
        dataset, _, stored = self.load(number)
        padding = padding_mask(dataset, stored)
        file = self.series.slices[number].file
        hu = hounsfield(dataset, stored, padding, file)
        rows, columns = (float(mm) for mm in dataset.PixelSpacing)
        ceiling = stored_limits(dataset)[1] * float(dataset.RescaleSlope) + float(dataset.RescaleIntercept)
        return ScanSlice(hu, (rows, columns), padding, ceiling, float(dataset.RescaleSlope))

    def patient_axes(self, number: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return where the first pixel of a slice lies, and the steps to the next row and column; mm, LPS."""
        header, file = read_header(self.series.slices[number].file, True), self.series.slices[number].file
        across, down = plane_of(header, file)
        rows, columns = (float(mm) for mm in header.PixelSpacing)
        return np.array([float(value) for value in header.ImagePositionPatient]), down * rows, across * columns

    def load(self, number: int) -> tuple[Any, str, NDArray[Any]]:
        """Read a slice with all its tags, the hash of its file, and its stored numbers; refuse what is not clear."""
        file = self.series.slices[number].file
        try:
            dataset, data = read_dataset(file)
            check_slice(dataset, file, self.any_plane)
            check_complete(dataset, file)
            if is_lossy(dataset) and not self.accept_lossy:
                problem = f"{file}: was compressed with loss (LossyImageCompression)"
                raise NeedsChoice(problem, NeedsChoice.LOSSY, "; --accept-lossy takes it")
            return dataset, sha256(data), stored_pixels(dataset, file)
        except InputRefused:
            raise
        except (Exception, RecursionError) as error:
            raise InputRefused(f"{file}: cannot be read ({type(error).__name__}: {str(error)[:200]})") from error

    def writer(self, folder: Path, provenance: Provenance) -> DicomWriter:
        return DicomWriter(self, folder, provenance)


class DicomWriter:
    """Writes a derived series, and that of the differences; files are named by running numbers."""

    def __init__(self, scan: DicomScan, folder: Path, provenance: Provenance) -> None:
        self.scan, self.folders = scan, {kind: folder / kind for kind in (REDUCED, DIFFERENCE)}
        for place in self.folders.values():
            place.mkdir(parents=True, exist_ok=True)
        p = provenance
        self.hows = {
            kind: Derived(kind, p.description, p.identity, p.created, __version__, p.keep_private)
            for kind in self.folders
        }

    def write(self, number: int, change: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
        try:
            return self._write(number, change)
        except (InputRefused, OSError, MemoryError):
            raise
        except (Exception, RecursionError) as error:
            file = self.scan.series.slices[number].file
            raise InputRefused(f"{file}: has tags that cannot be written again ({type(error).__name__})") from error

    def _write(self, number: int, change: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
        source, content, before = self.scan.load(number)
        origin = Origin.of(source, content)
        words = stored_words(source, before)
        fixed = padding_mask(source, before)
        slope, intercept = float(source.RescaleSlope), float(source.RescaleIntercept)
        stored, written = before, None
        if change is not None:
            hu = before * slope + intercept
            stored = to_stored(before, hu.astype(np.float32), change, slope, intercept, stored_limits(source))
            stored = np.where(fixed, before, _beside_padding(source, stored))
            written = ((stored - before) * slope).astype(np.float32)
        pixels = np.where(stored == before, words, stored)
        derive(source, origin, self.hows[REDUCED])
        set_pixels(source, pixels)
        self._save(source, REDUCED, number)
        derive(source, origin, self.hows[DIFFERENCE])
        set_difference(source, np.zeros(before.shape, np.float32) if written is None else written)
        self._save(source, DIFFERENCE, number)
        return written

    def close(self) -> list[Path]:
        return list(self.folders.values())

    def _save(self, dataset: Any, kind: str, number: int) -> None:
        import pydicom

        buffer = BytesIO()
        pydicom.dcmwrite(buffer, dataset, enforce_file_format=True)
        (self.folders[kind] / f"{number + 1:04d}.dcm").write_bytes(buffer.getvalue())


def _beside_padding(source: Any, stored: NDArray[np.int64]) -> NDArray[np.int64]:
    """Keep new values out of the range of padding: no pixel may look like it."""
    found = padding_range(source)
    if found is None:
        return stored
    low, high = found
    least, most = stored_limits(source)
    above = high + 1 if high < most else low - 1
    hit = (stored >= low) & (stored <= high)
    return np.where(hit, np.clip(above, least, most), stored)
