"""Pairs for training and evaluation: stores of `acdnet simulate`, or folders of the benchmark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from acdnet.data.benchmark import LIST, list_name, read_clean_sinogram, read_images, read_list, read_pair
from acdnet.data.store import MANIFEST, Pair, Store
from acdnet.errors import InputRefused
from acdnet.files import read_limited, sha256
from acdnet.limits import MAX_ARRAY_BYTES
from acdnet.npy import map_array
from acdnet.units import Image

MASKS = "masks.npy"
"""The masks of a benchmark folder, (512, 512, n)."""
EVERYTHING = slice(None)
MARK = 16
"""Length of a patient's mark."""
KEPT = 16
"""Cached pairs of a benchmark folder: several patches are drawn from each pair."""


@dataclass(frozen=True)
class PairInfo:
    """The description of a pair."""

    name: str
    patient: str
    split: str
    metal_pixels: int | None
    licence: str = ""
    """Licence and origin of the clean slice."""


class PairSet(Protocol):
    """A set of pairs that can be read as a whole or in part."""

    folder: Path
    size: int
    protocol: str
    identity: str
    """A hash of the content."""

    def infos(self) -> list[PairInfo]: ...

    def read(self, index: int, rows: slice = EVERYTHING, columns: slice = EVERYTHING) -> Pair: ...

    def sinogram(self, index: int) -> Image | None: ...

    def clean_sinogram(self, index: int) -> Image | None: ...

    def pixel_mm(self, index: int) -> float | None: ...

    def neighbours(self, index: int) -> tuple[int | None, int | None]:
        """Return the indices of the pairs below and above in the same slab."""
        ...

    def verify(self) -> None: ...


class StorePairs:
    """The pairs of some splits of a store."""

    def __init__(self, folder: Path, splits: Sequence[str] = ()) -> None:
        self.folder, self.store = folder, Store(folder)
        self.size, self.protocol = self.store.size, str(self.store.manifest.get("protocol", ""))
        there = {entry["split"] for entry in self.store.slices}
        missing = sorted(set(splits) - there)
        if missing:
            raise InputRefused(f"{folder}: has no split {missing[0]!r}; there are {', '.join(sorted(there))}")
        self.index = [pair for split in sorted(splits or there) for pair in self.store.select(split)]
        manifest = sha256(read_limited(folder / MANIFEST, 512 * 2**20))
        self.identity = sha256(f"{manifest} {self.index}".encode())

    def infos(self) -> list[PairInfo]:
        found = []
        for n, k in self.index:
            entry = self.store.slices[n]
            pixels = entry["pairs"][k].get("metal_pixels")
            name, licence = f"{entry['name']}/{k}", _licence(entry)
            found.append(PairInfo(name, entry["patient"], entry["split"], pixels, licence))
        return found

    def read(self, index: int, rows: slice = EVERYTHING, columns: slice = EVERYTHING) -> Pair:
        return self.store.pair(*self.index[index], rows, columns)

    def sinogram(self, index: int) -> Image | None:
        return self.store.sinogram(*self.index[index])

    def clean_sinogram(self, index: int) -> Image | None:
        return self.store.clean_sinogram(self.index[index][0])

    def pixel_mm(self, index: int) -> float | None:
        value = self.store.slices[self.index[index][0]].get("pixel_mm")
        return float(value) if value is not None else None

    def neighbours(self, index: int) -> tuple[int | None, int | None]:
        return self._neighbours.get(index, (None, None))

    @cached_property
    def _neighbours(self) -> dict[int, tuple[int | None, int | None]]:
        index_of = {pair: index for index, pair in enumerate(self.index)}
        found = {}
        for numbers in self.store.slabs:
            for below, here, above in zip([None, *numbers], numbers, [*numbers[1:], None], strict=False):
                for k in range(len(self.store.slices[here]["pairs"])):
                    pair = [None if n is None else index_of.get((n, k)) for n in (below, above)]
                    if (here, k) in index_of:
                        found[index_of[here, k]] = (pair[0], pair[1])
        return found

    def verify(self) -> None:
        """Refuse missing files and files that differ from the manifest."""
        self.store.verify({n for n, _ in self.index})


def _licence(entry: dict[str, Any]) -> str:
    """Return the licence and the collection of a slice, without its patient."""
    collection = re.split(r"[,(]", str(entry.get("origin", "")))[0].strip()
    return f"{entry['licence']} {collection}".strip() if entry.get("licence") else ""


class BenchmarkPairs:
    """A folder of the benchmark: a list of slices, an array of masks, one h5 file per pair."""

    def __init__(self, folder: Path, splits: Sequence[str] = ()) -> None:
        self.folder, self.protocol = folder, "syndeeplesion"
        lists = _lists(folder)
        if splits and lists != [LIST]:
            missing = [split for split in splits if list_name(split) not in lists]
            if missing:
                raise InputRefused(f"{folder}: has no split {missing[0]!r}; there are {', '.join(lists)}")
            lists = [list_name(split) for split in splits]
        self.masks = _read_masks(folder / MASKS) if (folder / MASKS).exists() else None
        self.index = [(gt, k) for name in lists for gt in read_list(folder, name) for k in _masks_of(gt)]
        if not self.index:
            raise InputRefused(f"{folder}: the list contains no slice with pairs (0.h5, 1.h5, ... next to gt.h5)")
        self.images = lru_cache(KEPT)(self._images)
        self.size = self.read(0).clean.shape[0]
        names = "\n".join(f"{gt.relative_to(folder)} {k}" for gt, k in self.index)
        self.identity = sha256(names.encode())

    def infos(self) -> list[PairInfo]:
        """Return the descriptions; the patient is the first part of a folder's name (000195_02_02)."""
        found = []
        for gt, k in self.index:
            place = gt.parent.relative_to(self.folder)
            found.append(PairInfo(f"{place}/{k}", place.parts[0].split("_")[0], "", None))
        return found

    def _images(self, index: int) -> Pair:
        gt, k = self.index[index]
        return read_images(gt, k, self.masks)

    def read(self, index: int, rows: slice = EVERYTHING, columns: slice = EVERYTHING) -> Pair:
        pair = self.images(index)
        whole = (pair.clean, pair.corrupted, pair.li)
        clean, corrupted, li = (image[rows, columns] for image in whole)
        return Pair(clean, corrupted, li, pair.metal[rows, columns])

    def sinogram(self, index: int) -> Image | None:
        gt, k = self.index[index]
        return read_pair(gt, k, self.masks).sinogram

    def clean_sinogram(self, index: int) -> Image | None:
        return read_clean_sinogram(self.index[index][0])

    def pixel_mm(self, index: int) -> float | None:  # noqa: ARG002 all patients have the same width
        return None

    def neighbours(self, index: int) -> tuple[int | None, int | None]:  # noqa: ARG002 slices of their own
        return None, None

    def verify(self) -> None:
        """Refuse missing files; published folders have no hashes."""
        for gt, k in self.index:
            for path in (gt, gt.parent / f"{k}.h5"):
                if not path.is_file():
                    raise InputRefused(f"{path}: no such file, but it is in the list")


def _lists(folder: Path) -> list[str]:
    return [LIST] if (folder / LIST).is_file() else sorted(path.name for path in folder.glob(list_name("*")))


def _masks_of(gt: Path) -> list[int]:
    return sorted(int(path.stem) for path in gt.parent.glob("*.h5") if path.stem.isdigit())


@lru_cache(maxsize=4)
def _read_masks(path: Path) -> NDArray[np.uint8]:
    masks = map_array(path, MAX_ARRAY_BYTES)
    if masks.ndim != 3 or masks.dtype.kind not in "bu":
        raise InputRefused(f"{path}: contains {masks.dtype} of shape {masks.shape}; H x W x n of 0 and 1 are needed")
    return np.asarray(masks, np.uint8)


def open_pairs(folder: Path, splits: Sequence[str] = ()) -> PairSet:
    """Open a store or a benchmark folder."""
    if _lists(folder) and not (folder / "slices").is_dir():
        return BenchmarkPairs(folder, splits)
    return StorePairs(folder, splits)


def some_of(total: int, count: int) -> list[int]:
    """Choose `count` of `total` pairs at random with a fixed seed, in order; 0 chooses all.

    Evenly spaced pairs would use the same mask of every slice.
    """
    wanted = min(count, total) if count else total
    return sorted(int(i) for i in np.random.default_rng(0).permutation(total)[:wanted])


def marks(sets: Iterable[PairSet]) -> tuple[str, ...]:
    """Return the mark of every patient: a hash that identifies patients without their IDs."""
    patients = {info.patient for pairs in sets for info in pairs.infos()}
    return tuple(sorted(mark(patient) for patient in patients))


def mark(patient: str) -> str:
    """Return the mark of one patient."""
    return sha256(f"patient {patient}".encode())[:MARK]


def check_apart(train: Iterable[PairSet], held_out: Iterable[PairSet]) -> None:
    """Refuse patients that are both trained on and held out."""
    seen = {info.patient for pairs in train for info in pairs.infos()}
    for pairs in held_out:
        for info in pairs.infos():
            if info.patient in seen:
                raise InputRefused(f"{pairs.folder}: patient {info.patient} is also in the training data")
