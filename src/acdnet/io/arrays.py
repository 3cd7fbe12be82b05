"""Scans without a header: arrays of HU (.npy) and 16-bit PNGs (HU + 32768). The user gives the pixel size."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused, ResourceError
from acdnet.files import leads_inside, read_limited
from acdnet.io.scan import DIFFERENCE, REDUCED, SHORT_NOTICE, Provenance, to_stored
from acdnet.io.slices import Change, Image, Slice
from acdnet.limits import MAX_ARRAY_BYTES, MAX_PNG_BYTES, check_side
from acdnet.messages import quiet_readers, quoted
from acdnet.npy import map_array

PNG_OFFSET = 32768
"""16-bit PNGs store HU + 32768."""
PNG_LIMITS = (0, 65535)
NO_POSITIONS = "slice positions are unknown; metal is detected in each slice separately"


def read_png(path: Path) -> tuple[Image, bytes]:
    """Read a slice in HU from a 16-bit greyscale PNG; return it and the bytes of the file."""
    from PIL import Image as PILImage

    quiet_readers()
    data = read_limited(path, MAX_PNG_BYTES)
    try:
        with PILImage.open(BytesIO(data), formats=("PNG",)) as picture:
            width, height = picture.size
            if not picture.mode.startswith("I"):
                raise InputRefused(f"{path}: has mode {picture.mode}; a 16-bit greyscale PNG is needed")
            check_side((height, width), str(path))
            stored = np.asarray(picture, dtype=np.int64)
    except (InputRefused, MemoryError):
        raise
    except Exception as error:
        raise InputRefused(f"{path}: is not a readable PNG ({quoted(error)})") from error
    return (stored - PNG_OFFSET).astype(np.float32), data


def _natural(path: Path) -> list[Any]:
    """Return a sort key that puts 2.png before 10.png."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)]


def _is_png(path: Path) -> bool:
    return path.suffix.lower() == ".png"


class PngScan:
    """One PNG, or the PNGs of a folder in the order of their names."""

    kind = "png"

    def __init__(self, path: Path, pixel_mm: tuple[float, float]) -> None:
        self.files = [path] if path.is_file() else sorted(filter(_is_png, path.iterdir()), key=_natural)
        for file in self.files:
            if not leads_inside(file, path):
                raise InputRefused(f"{file}: is a link to outside the folder; copy the file instead")
        self.spacing_mm = pixel_mm
        self.heights: list[float | None] = [None] * len(self.files)
        self.warnings = [NO_POSITIONS] if len(self.files) > 1 else []
        self.skipped: dict[str, int] = {}
        self.about = {"pictures": f"{len(self.files)} PNG"}

    def __len__(self) -> int:
        return len(self.files)

    def read(self, number: int) -> Slice:
        hu, _ = read_png(self.files[number])
        return Slice(hu, self.spacing_mm, np.zeros(hu.shape, bool), float(PNG_LIMITS[1] - PNG_OFFSET), 1.0)

    def writer(self, folder: Path, provenance: Provenance) -> PngWriter:  # noqa: ARG002
        return PngWriter(self, folder)


class PngWriter:
    """Writes PNGs with running numbers for names."""

    def __init__(self, scan: PngScan, folder: Path) -> None:
        self.scan, self.folders = scan, {kind: folder / kind for kind in (REDUCED, DIFFERENCE)}
        for place in self.folders.values():
            place.mkdir(parents=True, exist_ok=True)

    def write(self, number: int, change: Change | None) -> Image | None:
        hu, _ = read_png(self.scan.files[number])
        before = hu.astype(np.int64) + PNG_OFFSET
        change = np.zeros_like(hu) if change is None else change
        after = to_stored(before, hu, change, 1.0, -PNG_OFFSET, PNG_LIMITS)
        self._save(REDUCED, number, after)
        self._save(DIFFERENCE, number, after - before + PNG_OFFSET)
        return (after - before).astype(np.float32)

    def _save(self, kind: str, number: int, stored: NDArray[np.int64]) -> None:
        from PIL import Image as PILImage
        from PIL import PngImagePlugin

        notes = PngImagePlugin.PngInfo()
        notes.add_text("Comment", SHORT_NOTICE)
        path = self.folders[kind] / f"{number + 1:04d}.png"
        PILImage.fromarray(stored.astype(np.uint16)).save(path, pnginfo=notes)
        if not np.array_equal(read_png(path)[0].astype(np.int64) + PNG_OFFSET, stored.astype(np.uint16)):
            raise ResourceError(f"{path}: was written, but reads as something else")

    def close(self) -> list[Path]:
        return list(self.folders.values())


class ArrayScan:
    """An array of HU, H x W or n x H x W, from a file or from memory."""

    kind = "npy"

    def __init__(self, array: NDArray[Any], spacing_mm: tuple[float, ...], name: str = "array") -> None:
        """Take row and column spacing, optionally preceded by the slice spacing."""
        if array.ndim not in (2, 3) or array.size == 0 or array.dtype.kind not in "iufb":
            raise InputRefused(
                f"{name}: is {array.dtype} of shape {array.shape}; HU of shape H x W or n x H x W are needed"
            )
        check_side(array.shape[-2:], f"{name}: a slice")
        self.array, self.slices = array, array.reshape(-1, *array.shape[-2:])
        *step, rows, columns = spacing_mm
        self.spacing_mm = (float(rows), float(columns))
        self.heights: list[float | None] = [n * step[0] if step else None for n in range(len(self.slices))]
        self.warnings: list[str] = [NO_POSITIONS] if len(self.slices) > 1 and not step else []
        self.skipped: dict[str, int] = {}
        self.about = {"array": f"{array.dtype} {' x '.join(map(str, array.shape))}"}

    @classmethod
    def open(cls, path: Path, spacing_mm: tuple[float, ...]) -> ArrayScan:
        """Open a .npy file as a memory map."""
        return cls(map_array(path, MAX_ARRAY_BYTES), spacing_mm, path.name)

    def __len__(self) -> int:
        return len(self.slices)

    def read(self, number: int) -> Slice:
        kind = self.array.dtype.kind
        if kind == "b":
            raise InputRefused("the array contains truth values; HU are needed")
        with np.errstate(over="ignore"):  # infinite values are refused or replaced later
            hu = np.array(self.slices[number], np.float32)
        ceiling = float(np.iinfo(self.array.dtype).max) if kind in "iu" else float(np.finfo(np.float32).max)
        return Slice(hu, self.spacing_mm, np.zeros(hu.shape, bool), ceiling, 1.0 if kind in "iu" else 0.0)

    def writer(self, folder: Path, provenance: Provenance) -> ArrayWriter:  # noqa: ARG002
        return ArrayWriter(self, folder)


class ArrayWriter:
    """Writes arrays of the same shape and type; without a folder the result stays in memory."""

    def __init__(self, scan: ArrayScan, folder: Path | None) -> None:
        self.scan, self.folder = scan, folder
        self.after = np.array(scan.array)
        self.slices = self.after.reshape(scan.slices.shape)

    def write(self, number: int, change: Change | None) -> Image | None:
        if change is None:
            return None
        before = np.array(self.scan.slices[number])
        if before.dtype.kind == "f":
            after = np.where(np.isfinite(before), before.astype(np.float64) + change, change)
            self.slices[number] = np.where(change != 0, after, before)
        else:
            limits = np.iinfo(before.dtype)
            hu = before.astype(np.float32)
            self.slices[number] = to_stored(before, hu, change, 1.0, 0.0, (int(limits.min), int(limits.max)))
        return np.asarray(self.slices[number].astype(np.float64) - before, np.float32)

    def close(self) -> list[Path]:
        if self.folder is None:
            return []
        self.folder.mkdir(parents=True, exist_ok=True)
        paths = [self.folder / f"{kind}.npy" for kind in (REDUCED, DIFFERENCE)]
        np.save(paths[0], self.after)
        difference = (self.after.astype(np.float32) - self.scan.array).astype(np.float32)
        np.save(paths[1], difference)
        for path, array in zip(paths, (self.after, difference), strict=True):
            if not np.array_equal(map_array(path, MAX_ARRAY_BYTES), array, equal_nan=array.dtype.kind == "f"):
                raise ResourceError(f"{path}: was written, but reads as something else")
        return paths
