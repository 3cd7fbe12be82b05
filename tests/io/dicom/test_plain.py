"""Files without preamble, as radiotherapy systems export them."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pydicom
import pytest

from acdnet.errors import InputRefused
from acdnet.io.dicom.plain import is_plain
from acdnet.io.dicom.series import find_series
from acdnet.io.dicom.tags import CT_STORAGE, IMPLICIT
from tests.reduction.make import pixels, reduce, series


def strip(file: Path) -> bytes:
    """Rewrite a file as a bare data set, implicit little-endian."""
    dataset = pydicom.dcmread(file)
    dataset.remove_private_tags()
    bare = pydicom.Dataset(dataset)
    bare.save_as(file, implicit_vr=True, little_endian=True, enforce_file_format=False)
    data = file.read_bytes()
    assert data[:2] == b"\x08\x00"
    assert b"DICM" not in data[:256]
    return data


def test_a_series_without_preambles_is_reduced(tmp_path: Path) -> None:
    whole, bare = series(tmp_path / "whole"), series(tmp_path / "bare")
    for file in bare.iterdir():
        strip(file)
    for name, source in (("a", whole), ("b", bare)):
        assert reduce(source, tmp_path / name).code == 0
    for kind in ("reduced", "difference"):
        assert np.array_equal(pixels(tmp_path / "a" / kind), pixels(tmp_path / "b" / kind))
    written = pydicom.dcmread(tmp_path / "b/reduced/0002.dcm")
    assert written.file_meta.TransferSyntaxUID == IMPLICIT
    assert written.preamble == b"\0" * 128


@pytest.mark.parametrize(
    ("change", "good"),
    [
        (lambda data: data, True),
        (lambda data: b"\x08\0\0\0\4\0\0\0\x10\0\0\0" + data, True),  # a group length
        (lambda data: data.replace(CT_STORAGE.encode() + b"\0", b"1.2.840.10008.5.1.4.1.1.4\0"), False),  # MR
        (lambda data: b"\x10" + data[1:], False),  # another group
        (lambda data: data[:4] + b"\xff\xff\xff\xff" + data[8:], False),  # a sequence
        (lambda data: data[:4] + b"\x03\0\0\0" + data[8:], False),  # an odd length
        (lambda data: data[8:], False),
        (lambda data: data[:40], False),
        (lambda data: data[:0], False),
        (lambda data: b"\x08\0\x05\0\0\0\0\0" * 2 + data, False),  # not in order
    ],
)
def test_only_the_first_elements_of_a_ct_slice_are_accepted(
    tmp_path: Path, change: Callable[[bytes], bytes], good: bool
) -> None:
    data = strip(series(tmp_path / "in", (True,)) / "IM0001.dcm")
    assert is_plain(change(data)[:4096], CT_STORAGE) == good


def test_random_bytes_are_not_dicom() -> None:
    rng = np.random.default_rng(0)
    assert not any(is_plain(b"\x08\0" + rng.bytes(400), CT_STORAGE) for _ in range(1000))


def test_damage_is_refused_within_the_limits(tmp_path: Path) -> None:
    """A length of 4 GB in the header, and any cut, end as one line or as a file that is not DICOM."""
    source = series(tmp_path / "in", (True,))
    file = source / "IM0001.dcm"
    data = strip(file)
    at = data.index(b"\x10\0\x10\0")
    file.write_bytes(data[: at + 4] + b"\xf0\xff\xff\xff" + data[at + 8 :])
    with pytest.raises(InputRefused):
        find_series(source)
    for length in range(0, len(data), 997):
        file.write_bytes(data[:length])
        with contextlib.suppress(InputRefused):
            assert len(find_series(source).series) <= 1
