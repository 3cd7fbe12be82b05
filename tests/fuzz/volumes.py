"""Damaged arrays, NIfTI volumes and PNGs."""

import gzip
import random
import struct
import zlib
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
from PIL import Image

from tests.fuzz.dicom import SIDE, sound
from tests.fuzz.mutate import NUMBERS, damaged, noise
from tests.reduction.make import body

TYPES = ("<f4", "<f8", "<i2", "<u2", "|b1", "|O", "<c8", ">i2", "<f2", "<M8[s]", "|S5", "<U3", "|V8", "<i99", "i", "")
SHAPES = ("(64, 64)", "(1, 64, 64)", "(0, 64)", "(-1, 64)", "(64,)", "()", "(2, 2, 2, 2)", "64", "(True, 64)", "None")


def _reduce(source: Path, folder: Path, *options: str) -> list[str]:
    return ["reduce", str(source), str(folder / "out"), "--method", "li", "--workers", "1", *options]


@lru_cache
def array_bytes(kind: str, metal: bool) -> bytes:
    buffer = BytesIO()
    np.save(buffer, body(SIDE, metal=metal).astype(kind))
    return buffer.getvalue()


def npy(rng: random.Random, folder: Path) -> list[str]:
    """Damage an array that is the scan, or its mask."""
    data = array_bytes(rng.choice(("<f4", "<i2", ">f8")), rng.random() < 0.2)
    start = data.index(b"\n") + 1
    if rng.random() < 0.4:
        order, kind = rng.choice(("False", "True", "0", "None", "")), rng.choice(TYPES)
        shape = rng.choice((*SHAPES, f"({rng.choice(NUMBERS)}, 64)"))
        head = f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}".encode()
        head = (damaged(head, rng) if rng.random() < 0.3 else head).ljust(117) + b"\n"
        version = rng.choice((1, 1, 2, 3, 4))
        size = struct.pack("<H" if version == 1 else "<I", len(head))
        data = b"\x93NUMPY" + bytes((version, 0)) + size + head + data[start:]
    else:
        data = damaged(data, rng, head=rng.choice((0, start)))
    (folder / "a.npy").write_bytes(data)
    if rng.random() < 0.7:
        return _reduce(folder / "a.npy", folder, "--pixel-mm", "2")
    (folder / "in").mkdir()
    for n, slice_ in enumerate(sound()):
        (folder / "in" / f"{n}.dcm").write_bytes(slice_)
    return _reduce(folder / "in", folder, "--mask", str(folder / "a.npy"))


@lru_cache
def _nifti(version: int, kind: str, metal: bool) -> bytes:
    voxels = np.stack([body(SIDE, metal=metal)] * 2, axis=2).astype(kind)
    make: Any = nibabel.Nifti1Image if version == 1 else nibabel.Nifti2Image
    image = make(voxels, np.diag([2.0, 2.0, 3.0, 1.0]))
    image.header.extensions.append(nibabel.nifti1.Nifti1Extension("comment", b"hello"))
    return bytes(image.to_bytes())


FIELDS = {
    1: [
        *((at, "h") for at in (*range(40, 56, 2), 70, 72, 252, 254)),
        *((at, "f") for at in (*range(76, 108, 4), 108, 112, 116, *range(256, 328, 4))),
        *((at, "i") for at in (0, 344, 348, 352, 356)),
    ],
    2: [
        *((at, "q") for at in (4, *range(16, 80, 8), 168)),
        *((at, "d") for at in (*range(104, 168, 8), 176, 184, *range(400, 496, 8))),
        *((at, "h") for at in (12, 14)),
        *((at, "i") for at in (0, 344, 348, 540, 544)),
    ],
}
"""Offsets and types of the fields of NIfTI-1 and NIfTI-2 that decide about sizes and geometry."""


def nifti(rng: random.Random, folder: Path) -> list[str]:
    """Damage fields or bytes of a volume, or its compression."""
    version = rng.choice((1, 1, 2))
    data = bytearray(_nifti(version, rng.choice(("<i2", "<f4", "<u1")), rng.random() < 0.2))
    for _ in range(rng.choice((0, 1, 1, 2))):
        at, kind = rng.choice(FIELDS[version])
        size = struct.calcsize(kind)
        if kind in "fd":
            value = rng.choice((0.0, 1.0, -1.0, 2.0, 0.5, 1e-30, 1e30, 352.0, 353.5, float("nan"), float("inf")))
            struct.pack_into(f"<{kind}", data, at, value)
        else:
            data[at : at + size] = (rng.choice((*NUMBERS, 348, 540, -1, -2)) % 256**size).to_bytes(size, "little")
    if rng.random() < 0.4:
        data = bytearray(damaged(bytes(data), rng, head=560))
    packed = rng.random() < 0.4
    raw = gzip.compress(bytes(data), 1, mtime=0) if packed else bytes(data)
    path = folder / f"a.nii{'.gz' * packed}"
    path.write_bytes(damaged(raw, rng) if packed and rng.random() < 0.6 else raw)
    if rng.random() < 0.15:
        return ["info", str(path)]
    return _reduce(path, folder)


@lru_cache
def _png(metal: bool) -> bytes:
    buffer = BytesIO()
    Image.fromarray((body(SIDE, metal=metal) + 32768).astype(np.uint16)).save(buffer, "PNG")
    return buffer.getvalue()


def _chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    at, found = 8, []
    while at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        found.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + size]))
        at += 12 + size
    return found


def png(rng: random.Random, folder: Path) -> list[str]:
    """Damage bytes, or the content of chunks whose sums still fit."""
    data = _png(rng.random() < 0.2)
    if rng.random() < 0.3:
        data = damaged(data, rng, head=60)
    else:
        chunks = _chunks(data)
        for _ in range(rng.choice((1, 1, 2))):
            n = rng.randrange(len(chunks))
            name, content = chunks[n]
            change = rng.randrange(5)
            if change == 0:
                del chunks[n]
                if not chunks:
                    break
            elif change == 1:
                kind = rng.choice(
                    (b"tEXt", b"zTXt", b"iTXt", b"iCCP", b"PLTE", b"tRNS", b"acTL", b"fcTL", b"fdAT", b"IHDR")
                )
                chunks.insert(n, (kind, rng.choice((noise(rng), b"a\0\0" + zlib.compress(bytes(10**6)), content))))
            elif change == 2 and name == b"IHDR":
                sides = struct.pack(">2I", rng.choice(NUMBERS), rng.choice(NUMBERS))
                chunks[n] = (name, rng.choice((sides + content[8:], content[:8] + rng.randbytes(5))))
            else:
                chunks[n] = (name, damaged(content, rng) if content else noise(rng))
        data = data[:8]
        for name, content in chunks:
            data += struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    (folder / "a.png").write_bytes(data)
    return _reduce(folder / "a.png", folder, "--pixel-mm", "2")
