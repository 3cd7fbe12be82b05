"""The compact store: one file per slice with all its pairs, in 16 bits, for fast reading of patches.

    folder/manifest.json            the content with hashes; written last, so a store without it is unfinished
    folder/slices/<name>.safetensors
        clean      H x W        int16   the slice without metal
        corrupted  n x H x W    int16   with each of n implants
        li         n x H x W    int16   after linear interpolation
        tracefit   n x H x W    int16   after a trace fit, optional
        metal      n x bits     uint8   metal mask, eight pixels per byte
        implant    n x bits     uint8   true metal, in stores with detected metal
        sinogram   n x views x bins  uint16   optional
        clean_sinogram  views x bins uint16   measured without metal, with `sinogram` in the benchmark's protocol

An int16 c encodes c / 4 + 1600 HU (-6592 to 9792 HU; only metal is clipped). A uint16 c encodes the line integral
c / 4096 - 1.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from acdnet.errors import InputRefused
from acdnet.files import read_limited, sha256
from acdnet.parse import read_json
from acdnet.physics.scanner import Simulation
from acdnet.units import Image, Mask

FORMAT = 1
MANIFEST = "manifest.json"
FOLDER = "slices"
HU_STEP, HU_OFFSET = 0.25, 1600.0
LINE_STEP, LINE_OFFSET = 1 / 4096, -1.0
LARGEST_MANIFEST = 512 * 2**20
LARGEST_FILE = 2 * 2**30


def encode_hu(hu: NDArray[Any]) -> NDArray[np.int16]:
    """Encode HU in 16 bits, clipped to the range."""
    return np.clip(np.round((hu - HU_OFFSET) / HU_STEP), -32768, 32767).astype(np.int16)


def decode_hu(packed: NDArray[np.int16]) -> Image:
    """Decode HU."""
    return packed.astype(np.float32) * np.float32(HU_STEP) + np.float32(HU_OFFSET)


def encode_lines(lines: NDArray[Any]) -> NDArray[np.uint16]:
    """Encode line integrals in 16 bits."""
    return np.clip(np.round((lines - LINE_OFFSET) / LINE_STEP), 0, 65535).astype(np.uint16)


def decode_lines(packed: NDArray[np.uint16]) -> Image:
    """Decode line integrals."""
    return packed.astype(np.float32) * np.float32(LINE_STEP) + np.float32(LINE_OFFSET)


def pack_slice(
    pairs: Sequence[Simulation],
    sinograms: bool,
    clean_sinogram: Image | None = None,
    fitted: Sequence[Image] = (),
) -> bytes:
    """Return the file of a slice with its pairs; `fitted` are their trace-fit images, for all pairs or none."""
    if fitted and len(fitted) != len(pairs):
        raise ValueError(f"{len(fitted)} images after a trace fit for {len(pairs)} pairs")
    arrays: dict[str, NDArray[Any]] = {
        "clean": encode_hu(pairs[0].clean),
        "corrupted": np.stack([encode_hu(pair.corrupted) for pair in pairs]),
        "li": np.stack([encode_hu(pair.li) for pair in pairs]),
        "metal": np.stack([np.packbits(pair.metal) for pair in pairs]),
    }
    if any(pair.implant is not None for pair in pairs):
        truly = (pair.metal if pair.implant is None else pair.implant for pair in pairs)
        arrays["implant"] = np.stack([np.packbits(mask) for mask in truly])
    if fitted:
        arrays["tracefit"] = np.stack([encode_hu(image) for image in fitted])
    if sinograms:
        arrays["sinogram"] = np.stack([encode_lines(pair.sinogram) for pair in pairs])
        if clean_sinogram is not None:
            arrays["clean_sinogram"] = encode_lines(clean_sinogram)
    return save(arrays)


@dataclass(frozen=True)
class Pair:
    """A slice without metal, with metal, and after LI, in HU.

    Undetected implants stay in the image, so `clean` contains them.
    """

    clean: Image
    corrupted: Image
    li: Image
    metal: Mask
    tracefit: Image | None = field(default=None, kw_only=True)
    """After a trace fit, if stored."""

    def first(self, name: str) -> Image:
        """Return the image from which a network starts."""
        found = {"li": self.li, "tracefit": self.tracefit}[name]
        if found is None:
            raise InputRefused("has no images after a trace fit; simulate it with --tracefit")
        return found


class Store:
    """A finished store, opened for reading."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = folder = Path(folder)
        self.manifest = read_manifest(folder)
        if self.manifest.get("layout", "store") != "store":
            raise InputRefused(f"{folder}: contains files of the benchmark, not a store")
        self.slices: list[dict[str, Any]] = self.manifest["slices"]
        self.size = int(self.manifest["size"])

    def select(self, split: str) -> list[tuple[int, int]]:
        """List (slice, pair) of a split; refuse patients in two splits."""
        check_patients(self.slices, self.folder)
        return [
            (n, k) for n, entry in enumerate(self.slices) if entry["split"] == split for k in range(len(entry["pairs"]))
        ]

    def pair(self, n: int, k: int, rows: slice = slice(None), columns: slice = slice(None)) -> Pair:
        """Read pair k of slice n, or some of its rows and columns."""
        file = self._open(n)
        metal = self._mask(file, "metal", k)[rows, columns]
        clean = file.get_slice("clean")[rows, columns]
        corrupted, li = (file.get_slice(name)[k, rows, columns] for name in ("corrupted", "li"))
        if "implant" in file.keys():  # noqa: SIM118
            clean = np.where(self._mask(file, "implant", k)[rows, columns] & ~metal, corrupted, clean)
        fitted = None
        if "tracefit" in file.keys():  # noqa: SIM118
            fitted = decode_hu(file.get_slice("tracefit")[k, rows, columns])
        return Pair(decode_hu(clean), decode_hu(corrupted), decode_hu(li), metal, tracefit=fitted)

    @cached_property
    def slabs(self) -> list[list[int]]:
        """The numbers of the slices of every slab, from below to above; slices that are no slab's stand alone."""
        found: dict[str, list[int]] = {}
        for n, entry in enumerate(self.slices):
            found.setdefault(str(entry.get("slab", f"slice {n}")), []).append(n)
        return [sorted(numbers, key=lambda n: self.slices[n].get("z_mm") or 0.0) for numbers in found.values()]

    def slab(self, s: int, k: int, rows: slice = slice(None), columns: slice = slice(None)) -> Pair:
        """Read pair k of all slices of slab s, or some of their rows and columns; its images are n x H x W."""
        pairs = [self.pair(n, k, rows, columns) for n in self.slabs[s]]
        clean, corrupted, li, metal = (
            np.stack([getattr(pair, name) for pair in pairs]) for name in ("clean", "corrupted", "li", "metal")
        )
        fitted = [pair.tracefit for pair in pairs if pair.tracefit is not None]
        return Pair(clean, corrupted, li, metal, tracefit=np.stack(fitted) if fitted else None)

    def _mask(self, file: Any, name: str, k: int) -> Mask:
        bits = np.unpackbits(file.get_slice(name)[k], count=self.size**2)
        return bits.reshape(self.size, self.size).astype(bool)

    def sinogram(self, n: int, k: int) -> Image | None:
        """Read the measured sinogram of a pair; None if the store has none."""
        file = self._open(n)
        return decode_lines(file.get_slice("sinogram")[k]) if "sinogram" in file.keys() else None  # noqa: SIM118

    def clean_sinogram(self, n: int) -> Image | None:
        """Read the sinogram without metal; None if the store has none."""
        file = self._open(n)
        there = "clean_sinogram" in file.keys()  # noqa: SIM118
        return decode_lines(file.get_tensor("clean_sinogram")) if there else None

    def verify(self, which: Collection[int] | None = None) -> None:
        """Compare the files of some or all slices with their hashes."""
        for entry in (self.slices[n] for n in (range(len(self.slices)) if which is None else which)):
            data = read_limited(self.folder / entry["file"], LARGEST_FILE)
            if sha256(data) != entry["sha256"]:
                raise InputRefused(f"{self.folder / entry['file']}: does not match the manifest (hash differs)")

    def _open(self, n: int) -> Any:
        return _open_file(self.folder / self.slices[n]["file"])


@lru_cache(maxsize=512)
def _open_file(path: Path) -> Any:
    try:
        return safe_open(path, "np")
    except (OSError, SafetensorError) as error:
        raise InputRefused(f"{path}: the store misses this file, or the file is damaged ({error})") from error


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check the manifest of a store."""
    path = folder / MANIFEST
    if folder.is_dir() and not path.exists():
        raise InputRefused(f"{folder}: has no {MANIFEST}; it is no store, or acdnet simulate has not finished")
    manifest = read_json(path, LARGEST_MANIFEST)
    if (
        not isinstance(manifest, dict)
        or manifest.get("format") != FORMAT
        or not isinstance(manifest.get("slices"), list)
    ):
        raise InputRefused(f"{path}: is not a manifest of format {FORMAT}")
    if not isinstance(manifest.get("size"), int):
        raise InputRefused(f"{path}: has no size of the slices")
    wanted = {"file": str, "sha256": str, "patient": str, "split": str, "pairs": list}
    for entry in manifest["slices"]:
        if not isinstance(entry, dict) or not all(isinstance(entry.get(key), kind) for key, kind in wanted.items()):
            raise InputRefused(f"{path}: an entry lacks one of {', '.join(wanted)}")
        if not (folder / entry["file"]).resolve().is_relative_to(folder.resolve()):
            raise InputRefused(f"{path}: contains a file outside the store: {entry['file']!r}")
    return manifest


def check_patients(slices: list[dict[str, Any]], where: Path) -> None:
    """Refuse patients in two splits."""
    seen: dict[str, str] = {}
    for entry in slices:
        split = seen.setdefault(entry["patient"], entry["split"])
        if split != entry["split"]:
            raise InputRefused(f"{where}: patient {entry['patient']} is in {split} and in {entry['split']}")
