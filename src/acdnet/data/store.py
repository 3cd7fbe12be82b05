"""The compact store: one file per slice with all its pairs, in 16 bits, so that training reads patches at disk speed.

    folder/manifest.json            what is in it, with hashes; written last, so a store without it is not finished
    folder/slices/<name>.safetensors
        clean      H x W        int16   the slice without metal
        corrupted  n x H x W    int16   with each of n implants
        li         n x H x W    int16   after linear interpolation
        tracefit   n x H x W    int16   after a trace fit, only where asked for
        metal      n x bits     uint8   where the metal is, eight pixels a byte
        implant    n x bits     uint8   where it truly is, only in stores whose metal was found in the images
        sinogram   n x views x bins  uint16   only where asked for
        clean_sinogram  views x bins uint16   without metal, as measured; with it in the benchmark's protocol

An int16 c means c / 4 + 1600 HU (-6592 to 9792 HU; what lies outside is cut off, and only metal does). A uint16 c
means the line integral c / 4096 - 1.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from acdnet.errors import InputRefused
from acdnet.files import read_limited, sha256
from acdnet.physics.scanner import Simulation

FORMAT = 1
MANIFEST = "manifest.json"
FOLDER = "slices"
HU_STEP, HU_OFFSET = 0.25, 1600.0
LINE_STEP, LINE_OFFSET = 1 / 4096, -1.0
LARGEST_MANIFEST = 512 * 2**20
LARGEST_FILE = 2 * 2**30


def encode_hu(hu: NDArray[Any]) -> NDArray[np.int16]:
    """Pack HU into 16 bits, values outside the range at its ends."""
    return np.clip(np.round((hu - HU_OFFSET) / HU_STEP), -32768, 32767).astype(np.int16)


def decode_hu(packed: NDArray[np.int16]) -> NDArray[np.float32]:
    """Return the HU that 16 bits stand for."""
    return packed.astype(np.float32) * np.float32(HU_STEP) + np.float32(HU_OFFSET)


def encode_lines(lines: NDArray[Any]) -> NDArray[np.uint16]:
    """Pack line integrals into 16 bits."""
    return np.clip(np.round((lines - LINE_OFFSET) / LINE_STEP), 0, 65535).astype(np.uint16)


def decode_lines(packed: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Return the line integrals that 16 bits stand for."""
    return packed.astype(np.float32) * np.float32(LINE_STEP) + np.float32(LINE_OFFSET)


def pack_slice(
    pairs: Sequence[Simulation],
    sinograms: bool,
    clean_sinogram: NDArray[np.float32] | None = None,
    fitted: Sequence[NDArray[np.float32]] = (),
) -> bytes:
    """Return the file of a slice with its pairs; `fitted` are these after a trace fit, all or none."""
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
    """A slice without and with metal, and after LI, in HU.

    Where an implant is not among the metal that was found, the image as it came is what remains, and so the truth.
    """

    clean: NDArray[np.float32]
    corrupted: NDArray[np.float32]
    li: NDArray[np.float32]
    metal: NDArray[np.bool_]
    tracefit: NDArray[np.float32] | None = field(default=None, kw_only=True)
    """After a trace fit, where that was kept."""

    def first(self, name: str) -> NDArray[np.float32]:
        """Return the image that a network begins with."""
        found = {"li": self.li, "tracefit": self.tracefit}[name]
        if found is None:
            raise InputRefused("has no images after a trace fit; stores of `acdnet simulate --tracefit` have them")
        return found


class Store:
    """A finished store, opened for reading."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = folder = Path(folder)
        self.manifest = read_manifest(folder)
        if self.manifest.get("layout", "store") != "store":
            raise InputRefused(f"{folder}: holds files of the benchmark, not a store")
        self.slices: list[dict[str, Any]] = self.manifest["slices"]
        self.size = int(self.manifest["size"])

    def select(self, split: str) -> list[tuple[int, int]]:
        """List (slice, pair) of a split; refuse a store whose patients are in two splits."""
        check_patients(self.slices, self.folder)
        return [
            (n, k) for n, entry in enumerate(self.slices) if entry["split"] == split for k in range(len(entry["pairs"]))
        ]

    def pair(self, n: int, k: int, rows: slice = slice(None), columns: slice = slice(None)) -> Pair:
        """Read pair k of slice n, or the given rows and columns of it."""
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

    def _mask(self, file: Any, name: str, k: int) -> NDArray[np.bool_]:
        bits = np.unpackbits(file.get_slice(name)[k], count=self.size**2)
        return bits.reshape(self.size, self.size).astype(bool)

    def sinogram(self, n: int, k: int) -> NDArray[np.float32] | None:
        """Read the measured sinogram of a pair; None where the store was made without."""
        file = self._open(n)
        return decode_lines(file.get_slice("sinogram")[k]) if "sinogram" in file.keys() else None  # noqa: SIM118

    def clean_sinogram(self, n: int) -> NDArray[np.float32] | None:
        """Read what would be measured without metal; None where the store does not have it."""
        file = self._open(n)
        there = "clean_sinogram" in file.keys()  # noqa: SIM118
        return decode_lines(file.get_tensor("clean_sinogram")) if there else None

    def verify(self, which: Collection[int] | None = None) -> None:
        """Compare files with their hashes: those of some slices, or all."""
        for entry in (self.slices[n] for n in (range(len(self.slices)) if which is None else which)):
            data = read_limited(self.folder / entry["file"], LARGEST_FILE)
            if sha256(data) != entry["sha256"]:
                raise InputRefused(f"{self.folder / entry['file']}: is not the file of the manifest (hash differs)")

    def _open(self, n: int) -> Any:
        return _open_file(self.folder / self.slices[n]["file"])


@lru_cache(maxsize=512)
def _open_file(path: Path) -> Any:
    try:
        return safe_open(path, "np")
    except (OSError, SafetensorError) as error:
        raise InputRefused(f"{path}: the store misses this file, or it is damaged ({error})") from error


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check the manifest of a store."""
    path = folder / MANIFEST
    if folder.is_dir() and not path.exists():
        raise InputRefused(f"{folder}: has no {MANIFEST}; it is no store, or `acdnet simulate` has not finished it")
    try:
        manifest = json.loads(read_limited(path, LARGEST_MANIFEST))
    except (ValueError, RecursionError) as error:
        raise InputRefused(f"{path}: is not JSON ({error})") from error
    if (
        not isinstance(manifest, dict)
        or manifest.get("format") != FORMAT
        or not isinstance(manifest.get("slices"), list)
    ):
        raise InputRefused(f"{path}: is not a manifest of format {FORMAT}")
    if not isinstance(manifest.get("size"), int):
        raise InputRefused(f"{path}: does not say the size of its slices")
    wanted = {"file": str, "sha256": str, "patient": str, "split": str, "pairs": list}
    for entry in manifest["slices"]:
        if not isinstance(entry, dict) or not all(isinstance(entry.get(key), kind) for key, kind in wanted.items()):
            raise InputRefused(f"{path}: an entry lacks one of {', '.join(wanted)}")
        if not (folder / entry["file"]).resolve().is_relative_to(folder.resolve()):
            raise InputRefused(f"{path}: names a file outside the store: {entry['file']!r}")
    return manifest


def check_patients(slices: list[dict[str, Any]], where: Path) -> None:
    """Refuse a patient who is in two splits."""
    seen: dict[str, str] = {}
    for entry in slices:
        split = seen.setdefault(entry["patient"], entry["split"])
        if split != entry["split"]:
            raise InputRefused(f"{where}: a patient ({entry['patient']}) is in {split} and in {entry['split']}")
