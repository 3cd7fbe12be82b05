"""DICOM files built to cost time or memory, or to break what reads them: refused in one line, nothing left behind."""

from pathlib import Path
from typing import Any

import pydicom
import pytest

from acdnet.errors import InputRefused
from acdnet.io.dicom.bounds import MAX_HEADER_BYTES, MAX_NESTING
from acdnet.io.dicom.tags import read_dataset, read_header
from tests.reduction.make import reduce, series

SAMPLES = ("nest250", "bits1", "broken_sq_exit5", "derivation_text", "odd_padding_limit")


def refused(source: Path, tmp_path: Path, *words: str) -> None:
    """Demand a refusal in one short line that says why, and that nothing is left."""
    before = set(tmp_path.iterdir())
    done = reduce(source, tmp_path / "out")
    assert done.code == 3, done.text
    assert [word for word in words if word not in done.text] == []
    assert len(done.text) < 600
    assert set(tmp_path.iterdir()) == before


ITEM, SEQUENCE, ENDS = (
    b"\xfe\xff\x00\xe0",
    b"\x40\x00\x75\x02",
    (b"\xfe\xff\x0d\xe0\0\0\0\0", b"\xfe\xff\xdd\xe0\0\0\0\0"),
)
"""Tags of an item and of RequestAttributesSequence, and the ends of items and sequences of undefined length."""
CODES, MANUFACTURER, AFTER_PIXELS = b"\x08\x00\x51\x00", b"\x08\x00\x52\x00", b"\xe1\x7f\x01\x10"


def long_element(tag: bytes, vr: bytes, value: bytes, undefined: bool = False) -> bytes:
    """Return an element with a length of four bytes."""
    length = b"\xff" * 4 if undefined else len(value).to_bytes(4, "little")
    return tag + vr + b"\0\0" + length + value


def nested(depth: int, undefined: bool) -> bytes:
    """Return the value of a sequence with others within each other."""
    value = b""
    for _ in range(depth):
        inner = long_element(SEQUENCE, b"SQ", value, undefined) if value else b"\x08\x00\x00\x01SH\x02\x001 "
        length = b"\xff" * 4 if undefined else len(inner).to_bytes(4, "little")
        value = ITEM + length + inner + (b"".join(ENDS) if undefined else b"")
    return value


def insert(file: Path, element: bytes) -> None:
    """Put an element in front of Modality."""
    data = file.read_bytes()
    at = data.index(b"\x08\x00\x60\x00CS")
    file.write_bytes(data[:at] + element + data[at:])


@pytest.mark.parametrize("undefined", [False, True])
@pytest.mark.parametrize("after_pixels", [False, True])
def test_f58_deep_sequences(tmp_path: Path, undefined: bool, after_pixels: bool) -> None:
    source = series(tmp_path / "in", (True,))
    depth = 100 if undefined else 250  # the library gives up earlier at undefined lengths
    file, value = source / "IM0001.dcm", nested(depth, undefined)
    if after_pixels:
        file.write_bytes(file.read_bytes() + long_element(AFTER_PIXELS, b"SQ", value, undefined))
    else:
        insert(file, long_element(CODES, b"SQ", value, undefined))
    refused(source, tmp_path, "nested more than 50 deep")


def test_f58_sequences_that_are_not_too_deep_are_kept(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,))
    insert(source / "IM0001.dcm", long_element(CODES, b"SQ", nested(MAX_NESTING, False)))
    assert reduce(source, tmp_path / "out").code == 0
    before, after = (pydicom.dcmread(file) for file in (source / "IM0001.dcm", tmp_path / "out/reduced/0001.dcm"))
    assert after[0x00080051] == before[0x00080051]


@pytest.mark.parametrize(
    ("value", "word"),
    [
        pytest.param(ITEM + bytes(4) + b"\xfe\xff", "tags cannot be read", id="F62 cut in a tag"),
        pytest.param(ITEM + b"\x0a\0\0\0" + CODES + b"SQ\0\0\1\0", "tags cannot be read", id="F62 cut in a length"),
        pytest.param((ITEM + bytes(4)) * 30_000, "more than 20,000 items", id="F69 empty items without end"),
    ],
)
def test_broken_sequences(tmp_path: Path, value: bytes, word: str) -> None:
    source = series(tmp_path / "in", (True, True))
    insert(source / "IM0002.dcm", long_element(CODES, b"SQ", value))
    refused(source, tmp_path, word)


def test_f62_tags_that_only_writing_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the library while it writes is a fault of the file, also if it is an OSError."""

    def broken(*_: Any, **__: Any) -> None:
        raise OSError("No tag to read at file position 301")

    source = series(tmp_path / "in", (True, True))
    monkeypatch.setattr("pydicom.dcmwrite", broken)
    refused(source, tmp_path, "OSError")


@pytest.mark.parametrize(
    ("tags", "word"),
    [
        pytest.param({"BitsAllocated": 1, "BitsStored": 1, "HighBit": 0}, "BitsAllocated is 1", id="F61 one bit"),
        pytest.param({"BitsStored": 1, "HighBit": 0}, "BitsStored is 1", id="F61 one bit stored"),
        pytest.param({"BitsStored": 17, "HighBit": 16}, "BitsStored is 17", id="F61 more stored than allocated"),
        pytest.param({"BitsAllocated": 64}, "BitsAllocated is 64", id="F61 64 bits"),
        pytest.param({"PixelRepresentation": 7}, "PixelRepresentation is 7", id="F61 no sign"),
    ],
)
def test_impossible_pixels(tmp_path: Path, tags: dict[str, Any], word: str) -> None:
    refused(series(tmp_path / "in", (True,), **tags), tmp_path, word)


def test_f61_an_odd_length_of_a_number(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,), PixelPaddingValue=0)
    file = source / "IM0001.dcm"
    data = file.read_bytes()
    at = data.index(b"\x28\x00\x20\x01US")  # PixelPaddingValue
    file.write_bytes(data[:at] + b"\x28\x00\x20\x01US\x01\x00\x01" + data[at + 10 :])
    refused(source, tmp_path, "BytesLengthException")


def test_f61_bytes_where_text_belongs(tmp_path: Path) -> None:
    """A description that is acdnet's and a code that is no sequence."""
    source = series(tmp_path / "in", (True,), DerivationDescription="acdnet")
    insert(source / "IM0001.dcm", b"\x08\x00\x15\x92LO\x04\x00text")  # DerivationCodeSequence
    refused(source, tmp_path, "AttributeError")


@pytest.mark.parametrize("length", [MAX_HEADER_BYTES + 2, 3 * 2**30])
def test_f69_an_element_of_gigabytes(tmp_path: Path, length: int) -> None:
    """A sparse file; reading the element would take its length in memory."""
    source = series(tmp_path / "in", (True,))
    file = source / "IM0001.dcm"
    data = file.read_bytes()
    at = data.index(b"\x08\x00\x60\x00CS")
    with file.open("wb") as out:
        out.write(data[:at] + b"\x08\x00\x51\x00OB\0\0" + length.to_bytes(4, "little"))
        out.seek(length, 1)
        out.write(data[at:])
    with pytest.raises(InputRefused, match="claims more than"):
        read_header(file, must_be_dicom=True)
    refused(source, tmp_path, "claims more than")


def test_f69_elements_without_end(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,))
    insert(source / "IM0001.dcm", long_element(CODES, b"SQ", (ITEM + bytes(4)) * 150_000 + ENDS[1], undefined=True))
    refused(source, tmp_path, "too many elements")


def test_f69_a_long_element_of_a_slice_is_written_again(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,))
    insert(source / "IM0001.dcm", long_element(MANUFACTURER, b"UN", b"x" * 300_000))
    assert reduce(source, tmp_path / "out").code == 0
    assert len(pydicom.dcmread(tmp_path / "out/reduced/0001.dcm")[0x00080052].value) == 300_000


HOSTILE = "\x1b]0;mine\x07\x1b[2J"


@pytest.mark.parametrize("tag", ["RescaleType", "RescaleSlope"])
@pytest.mark.filterwarnings("ignore")
def test_f70_what_a_tag_may_say(tmp_path: Path, tag: str) -> None:
    source = series(tmp_path / "in", (True,), RescaleType="HU", RescaleSlope=1)
    file = source / "IM0001.dcm"
    data, head = file.read_bytes(), {"RescaleType": b"\x28\x00\x54\x10LO", "RescaleSlope": b"\x28\x00\x53\x10DS"}[tag]
    at = data.index(head)
    old = int.from_bytes(data[at + 6 : at + 8], "little")
    value = (HOSTILE * 500).encode()
    file.write_bytes(data[:at] + head + len(value).to_bytes(2, "little") + value + data[at + 8 + old :])
    refused(source, tmp_path)
    done = reduce(source, tmp_path / "out")
    assert done.text.isprintable()
    assert done.output.replace("\n", "").isprintable()


def test_f70_a_kernel_with_escape_sequences(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,), ConvolutionKernel="B30\x1b[2J\x07")
    done = reduce(source, tmp_path / "out")
    assert done.code == 0
    assert "B30\\x1b[2J" in done.text
    assert "\x1b" not in done.text + (tmp_path / "out/report.html").read_text()


@pytest.mark.parametrize("kernel", ["Secret", "xx secret", "Phantom"])
def test_f70_a_kernel_that_names_the_patient(tmp_path: Path, kernel: str) -> None:
    done = reduce(series(tmp_path / "in", (True,), ConvolutionKernel=kernel), tmp_path / "out")
    assert done.code == 0
    written = done.text + "".join((tmp_path / "out" / name).read_text() for name in ("report.json", "report.html"))
    assert kernel not in written.replace(str(tmp_path), "")


@pytest.mark.parametrize("sample", [pytest.param(name, id=f"F61 {name}") for name in SAMPLES])
def test_samples(tmp_path: Path, shared: Path, sample: str) -> None:
    refused(shared / "reference/faults" / sample, tmp_path)


def test_the_data_set_of_a_good_file_is_what_the_library_reads(tmp_path: Path) -> None:
    file = series(tmp_path / "in", (True,)) / "IM0001.dcm"
    assert read_dataset(file)[0] == pydicom.dcmread(file)
