"""Names and dates of birth are removed from messages, however they are written."""

from pathlib import Path

import pydicom
import pytest

from acdnet.viewer.job import UPLOAD
from acdnet.viewer.redact import Redaction
from tests.reduction.make import series


def job(folder: Path, **tags: object) -> Path:
    series(folder / UPLOAD, (True,), **tags)
    return folder


@pytest.mark.parametrize(
    ("name", "text", "left"),
    [
        ("Wu^Li", "scan of WU, li: no", "scan of ..., ...: no"),
        ("Wu^Li", "would like", "would like"),
        ("Ng^A", "a file of Ng_A", "a file of ..._A"),
        ("Smith^Anna-Maria", "SMITHANNA and anna of blacksmith's", "...... and ... of black...'s"),
        ("Müller", "MÜLLER", "..."),
        ("Yamada^Tarou=山田^太郎", "山田太郎 (yamada)", "...... (...)"),
        ("Smith", "the sm\x1bith was smith\nhere", "the sm\\x1bith was ... here"),
        ("O'Brien", "o'brien, Brien", "o'..., ..."),
    ],
)
def test_f73_names_of_any_length(name: str, text: str, left: str, tmp_path: Path) -> None:
    folder = job(tmp_path, PatientName=name, PatientID="", SpecificCharacterSet="ISO_IR 192")
    assert Redaction(folder)(text) == left


@pytest.mark.parametrize("stored", ["19700201", "1970.02.01", "01.02.1970"])
@pytest.mark.parametrize(
    "written",
    [
        *("19700201", "1970-02-01", "01.02.1970", "1.2.1970", "02/01/1970", "1970/2/1", "01-02-70", "01 02 1970"),
        *("1 Feb 1970", "February 1st, 1970", "01-FEB-1970", "01021970", "70-02-01"),
    ],
)
def test_f73_dates_of_birth_in_other_forms(stored: str, written: str, tmp_path: Path) -> None:
    with pydicom.config.disable_value_validation():
        folder = job(tmp_path, PatientBirthDate=stored, PatientName="", PatientID="")
    assert Redaction(folder)(f"born {written}: refused, 19700202, 2.1.1971") == "born ...: refused, 19700202, 2.1.1971"


def test_f70_names_in_files_that_cannot_be_read(tmp_path: Path) -> None:
    """The patient of a file is found in its bytes, where pydicom does not reach it."""
    start = b"\x00" * 128 + b"DICM"
    files = [
        start + b"\x10\x00\x10\x00PN\x06\x00Explic\xff\xff",
        b"\x10\x00\x10\x00\x08\x00\x00\x00Implicit",
        b"\x00\x10\x00\x10\x00\x00\x00\x06BigEnd",
        start + b"\x10\x00\x10\x00UN\x00\x00\x08\x00\x00\x00Unknown ",
        start + b"\x08\x00\x05\x00XX" + b"\x10\x00\x20\x00LO\xff\xffOverlong",
        bytes(range(256)) * 9,
        b"",
    ]
    (tmp_path / UPLOAD).mkdir()
    for n, data in enumerate(files, 1):
        (tmp_path / UPLOAD / f"{n:05d}").write_bytes(data)
    text = "quotes EXPLIC, implicit, BigEnd, unknown and overlong"
    assert Redaction(tmp_path)(text) == "quotes ..., ..., ..., ... and ..."


def test_f70_names_in_sequences(tmp_path: Path) -> None:
    folder = job(tmp_path, PatientName="Outer^Person", PatientID="")
    (file,) = (folder / UPLOAD).iterdir()
    dataset, item = pydicom.dcmread(file, force=True), pydicom.Dataset()
    item.PatientName, item.PatientID = "Hidden^Inside", "Code-77"
    dataset.ReferencedPatientSequence = [item]
    dataset.save_as(file)
    assert Redaction(folder)("Hidden, inside, outer, CODE-77") == "..., ..., ..., ..."


def test_f70_hostile_tags_become_printable(tmp_path: Path) -> None:
    text = Redaction(job(tmp_path))(f"{tmp_path}/{UPLOAD}/00001: is \x1b[31mred\x07 \ud800 {'x' * 10**6}")
    assert text.startswith("file 00001: is \\x1b[31mred\\x07 \\ud800 xxx")
    assert len(text) <= 2000
