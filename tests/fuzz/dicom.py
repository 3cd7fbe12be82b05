"""Damaged DICOM series: bytes, tags and compressed pixels."""

import random
import struct
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

import pydicom
from pydicom.datadict import tag_for_keyword
from pydicom.uid import JPEG2000Lossless, JPEGLSLossless, RLELossless

from acdnet.io.dicom.create import new_series
from tests.fuzz.mutate import NUMBERS, damaged, noise, text
from tests.reduction.make import SPACING, body

SIDE = 64
LONG = (b"OB", b"OW", b"SQ", b"UN", b"UT", b"OD", b"OF", b"UC", b"UR", b"SV")
"""Types whose length has four bytes."""
SHORT = (b"AE", b"AS", b"CS", b"DA", b"DS", b"DT", b"IS", b"LO", b"PN", b"SH", b"SL", b"SS", b"UI", b"UL", b"US", b"FD")
SYNTAXES = (
    "1.2.840.10008.1.2", "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.2", "1.2.840.10008.1.2.1.99", "1.2.840.10008.1.2.5",
    "1.2.840.10008.1.2.4.50", "1.2.840.10008.1.2.4.51", "1.2.840.10008.1.2.4.57", "1.2.840.10008.1.2.4.70",
    "1.2.840.10008.1.2.4.80", "1.2.840.10008.1.2.4.81", "1.2.840.10008.1.2.4.90", "1.2.840.10008.1.2.4.91",
    "1.2.840.10008.1.2.4.201", "1.2.840.10008.1.2.4.203", "1.2.3", "",
)  # fmt: skip
RARE = (
    "PixelPaddingValue", "PixelPaddingRangeLimit", "NumberOfFrames", "LossyImageCompression", "TimezoneOffsetFromUTC",
    "LossyImageCompressionRatio", "DerivationDescription", "DerivationCodeSequence", "ContributingEquipmentSequence",
    "SourceImageSequence", "GantryDetectorTilt", "IconImageSequence", "VOILUTSequence", "SeriesNumber",
    "SmallestImagePixelValue", "RequestAttributesSequence", "PerFrameFunctionalGroupsSequence", "OverlayData",
    "ExtendedOffsetTable", "EncapsulatedPixelDataValueTotalLength", "DataSetTrailingPadding", "SpecificCharacterSet",
)  # fmt: skip
"""Tags that a reduction reads or changes and that the sound files lack."""
Element = tuple[int, bytes, bytes]
"""Tag, type and value."""


@lru_cache
def sound(syntax: str = "", metal: bool = False) -> tuple[bytes, ...]:
    """Return the files of a series of two slices."""
    made = []
    for dataset in new_series([body(SIDE), body(SIDE, metal=metal)], SPACING, "Secret"):  # type: ignore[arg-type]
        if syntax:
            dataset.compress(syntax, generate_instance_uid=False)
        buffer = BytesIO()
        pydicom.dcmwrite(buffer, dataset, enforce_file_format=True)
        made.append(buffer.getvalue())
    return tuple(made)


def _write(folder: Path, files: list[bytes], rng: random.Random) -> list[str]:
    (folder / "in").mkdir()
    for n, data in enumerate(files):
        (folder / "in" / f"{n}.dcm").write_bytes(data)
    options = rng.choice(([], [], [], ["--keep-private"], ["--accept-lossy", "--accept-non-axial"]))
    verb = rng.choice(("reduce", "reduce", "reduce", "reduce", "info"))
    if verb == "info":
        return ["info", str(folder / "in")]
    return ["reduce", str(folder / "in"), str(folder / "out"), "--method", "li", "--workers", "1", *options]


def dicom_bytes(rng: random.Random, folder: Path) -> list[str]:
    """Damage the bytes of one file, mostly of its header."""
    files = list(sound(metal=rng.random() < 0.2))
    n = rng.randrange(len(files))
    files[n] = damaged(files[n], rng, head=len(files[n]) - 2 * SIDE**2)
    return _write(folder, files, rng)


def dicom_compressed(rng: random.Random, folder: Path) -> list[str]:
    """Damage compressed pixels, or what the tags say about them."""
    syntax = rng.choice((RLELossless, JPEGLSLossless, JPEG2000Lossless))
    files = list(sound(str(syntax)))
    data = files[0]
    if rng.random() < 0.1:
        other = rng.choice(SYNTAXES).ljust(len(syntax), "\0")[: len(syntax)]
        data = data.replace(str(syntax).encode(), other.encode(), 1)
    start = data.index(b"\xe0\x7f\x10\x00") if rng.random() < 0.8 else 0
    files[0] = data[:start] + damaged(data[start:], rng, head=rng.choice((0, 60, 200)))
    return _write(folder, files, rng)


def _plain(value: Any) -> bytes:
    """Return the bytes of a value, which the library has parsed for the character set only."""
    return value if isinstance(value, bytes) else str(value or "").encode()


@lru_cache
def _elements() -> tuple[tuple[bytes, tuple[Element, ...]], ...]:
    """Return the files up to their data sets, and the elements of these."""
    made = []
    for data in sound():
        dataset: Any = pydicom.dcmread(BytesIO(data))
        items = [dataset.get_item(tag) for tag in sorted(dataset.keys())]
        elements = tuple((int(one.tag), one.VR.encode(), _plain(one.value)) for one in items)
        made.append(
            (data[: data.index(struct.pack("<HH", elements[0][0] >> 16, elements[0][0] & 0xFFFF), 132)], elements)
        )
    return tuple(made)


def encode(elements: list[Element], rng: random.Random, sane: float = 1.0) -> bytes:
    """Return elements as explicit little-endian; a length is wrong with the probability 1 - sane."""
    made = b""
    for tag, kind, value in elements:
        head = struct.pack("<HH", tag >> 16, tag & 0xFFFF) + kind
        length = len(value) if rng.random() < sane else rng.choice((*NUMBERS, len(value) + 1, max(len(value) - 1, 0)))
        wide = kind in LONG
        made += head + (struct.pack("<HI", 0, length) if wide else struct.pack("<H", length % 65536)) + value
    return made


def _sequence(rng: random.Random, deep: int) -> bytes:
    """Return the value of a sequence, sometimes nested, sometimes broken."""
    items = b""
    for n in range(rng.choice((0, 1, 1, 2, 5))):
        inside: list[Element] = [(0x00080100, b"SH", b"1 "), (0x00080102, b"SH", noise(rng))]
        if deep and not n:  # more would be exponentially many
            inside.append((0x0040A043, b"SQ", _sequence(rng, deep - 1)))
        content = encode(inside, rng, 0.98)
        undefined = rng.random() < 0.3
        items += b"\xfe\xff\x00\xe0" + (b"\xff" * 4 if undefined else struct.pack("<I", len(content))) + content
        items += b"\xfe\xff\x0d\xe0" + bytes(4) if undefined else b""
    return items


def _value(rng: random.Random, old: bytes) -> bytes:
    """Return a hostile value of an element."""
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice((b"", noise(rng), old * 2, old[:-1], old + b"\0", bytes(len(old))))
    if kind == 1:
        return struct.pack("<I", rng.choice(NUMBERS))[: rng.choice((1, 2, 3, 4))]
    if kind == 2:
        return "\\".join(text(rng) for _ in range(rng.choice((1, 2, 3, 6)))).encode(errors="replace")
    if kind == 3:
        return struct.pack("<d", rng.choice((0.0, -1.0, float("nan"), float("inf"), 1e308)))
    if kind == 4:
        return rng.choice(SYNTAXES).encode()
    return _sequence(rng, rng.choice((0, 0, 1, 3, 60, 120) if rng.random() < 0.2 else (0, 0, 1)))


def _change(elements: list[Element], rng: random.Random) -> None:
    """Change, remove, add, double or move an element."""
    n, kind = rng.randrange(len(elements)), rng.randrange(10)
    tag, vr, old = elements[n]
    if kind == 0:
        del elements[n]
    elif kind == 1:
        elements.insert(rng.randrange(len(elements)), (tag, vr, _value(rng, old)))
    elif kind == 2:
        elements[n] = (tag, rng.choice((*LONG, *SHORT, b"ZZ", b"\0\0")), old)
    elif kind in (3, 4, 5):
        new = rng.choice((*(tag_for_keyword(name) or 0 for name in RARE), 0x00090010, 0x00091001, rng.randrange(2**32)))
        elements.append((new, rng.choice((*SHORT, b"SQ", b"SQ", b"UN", b"US", b"LO")), _value(rng, b"1 ")))
        if rng.random() < 0.9:
            elements.sort(key=lambda one: one[0])
    elif len(old) < 2 * SIDE**2 or rng.random() < 0.1:
        elements[n] = (tag, vr, _value(rng, old))


def dicom_tags(rng: random.Random, folder: Path) -> list[str]:
    """Give one file hostile values, types and elements."""
    files = list(sound(metal=rng.random() < 0.2))
    n = rng.randrange(len(files))
    start, elements = _elements()[n]
    changed = list(elements)
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        if changed:
            _change(changed, rng)
    files[n] = start + encode(changed, rng, 0.999)
    return _write(folder, files, rng)
