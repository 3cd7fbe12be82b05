"""Remove server paths and patient names from error messages before they are stored or shown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from acdnet.messages import printable
from acdnet.viewer.job import UPLOAD

IDENTITY = {
    "PatientName": 0x00100010,
    "PatientID": 0x00100020,
    "PatientBirthDate": 0x00100030,
    "OtherPatientIDs": 0x00101000,
    "OtherPatientNames": 0x00101001,
    "PatientBirthName": 0x00101005,
    "PatientMotherBirthName": 0x00101060,
}
MAX_FILES, SEARCHED_BYTES = 100, 2**20
"""Files whose identity is looked for, and how much of each is searched for tags that pydicom does not reach."""
MAX_VALUE_BYTES, MAX_WORDS = 1024, 1000
LONG_VRS = (b"UN", b"UT", b"UC", b"OB")
"""Their length takes four bytes, after two that are reserved."""
WHOLE_WORD = 4
"""Shorter words are only removed where they stand alone."""
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DATE = re.compile(
    r"(?P<year>1[89]\d\d|20\d\d)(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])"
    r"|(?P<d2>0[1-9]|[12]\d|3[01])(?P<m2>0[1-9]|1[0-2])(?P<year2>1[89]\d\d|20\d\d)"
)
GAP = r"[\s./_-]{0,3}"
"""What separates day, month and year."""


class Redaction:
    """Removes the paths of a job and its patients' identity from texts; those that quote a tag may contain either."""

    def __init__(self, folder: Path, text: str = "") -> None:
        """Find the identity in the files that a text names, and in others."""
        self.folder, self.upload = folder, folder / UPLOAD
        words = sorted(_identity(text, self.upload), key=lambda word: (-len(word), word))
        self.patterns = [_pattern_of(word) for word in words]

    def __call__(self, text: str) -> str:
        for path, name in ((f"{self.upload}{os.sep}", "file "), (self.upload, "the scan"), (self.folder, "the job")):
            text = text.replace(str(path), name)
        # twice: what is not printable may have separated a name
        return self._without_identity(printable(self._without_identity(text)))

    def _without_identity(self, text: str) -> str:
        for pattern in self.patterns:
            text = pattern.sub("...", text)
        return text


def _identity(text: str, upload: Path) -> set[str]:
    """Return the identifying words in the files that a text names, and in files from the first to the last."""
    files = sorted(upload.iterdir()) if upload.is_dir() and not upload.is_symlink() else []
    named = [file for file in files if file.name in text]
    words: set[str] = set()
    for file in dict.fromkeys([*named[:MAX_FILES], *files[:: 1 + len(files) // MAX_FILES]]):
        for value in (*_values(file), *_hidden_values(file)):
            words |= _words(value)
    return set(sorted(words)[:MAX_WORDS])


def _values(file: Path) -> list[str]:
    """Return the identity in the header of a DICOM file."""
    import pydicom

    try:
        header = pydicom.dcmread(file, stop_before_pixels=True, specific_tags=list(IDENTITY), force=True)
        return [str(header.get(tag, "")) for tag in IDENTITY]
    except Exception:  # damaged: its bytes are searched
        return []


def _hidden_values(file: Path) -> Iterator[str]:
    """Yield the identity that pydicom does not reach: in sequences, and in files that it cannot read."""
    try:
        with file.open("rb") as opened:
            data = opened.read(SEARCHED_BYTES)
    except OSError:
        return
    for tag in IDENTITY.values():
        yield from _values_of_tag(data, tag, "little")
        yield from _values_of_tag(data, tag, "big")


def _values_of_tag(data: bytes, tag: int, byteorder: Literal["little", "big"]) -> Iterator[str]:
    """Yield the printable values of a tag, wherever its number occurs, with explicit and with implicit VR."""
    number = b"".join(part.to_bytes(2, byteorder) for part in divmod(tag, 2**16))
    for found in re.finditer(re.escape(number), data):
        vr, start, size = data[found.end() :][:2], found.end() + 4, 4
        if vr in LONG_VRS:
            start += 4
        elif vr.isalpha():
            size = 2
        length = int.from_bytes(data[start - size : start], byteorder)
        if length > MAX_VALUE_BYTES and not vr.isalpha():
            continue  # rather a part of something else
        value = data[start:][: min(length, MAX_VALUE_BYTES)]
        try:
            text = value.decode()
        except UnicodeDecodeError:
            text = value.decode("latin-1")
        if (text := text.rstrip("\0 ")).isprintable():
            yield text


def _words(value: str) -> set[str]:
    """Return the words of a value that identify a patient; single letters do not."""
    value = value.replace("\0", " ")
    words = {word for word in re.split(r"[\s^=\\,;'\"\[\]()]+", value) if word}
    words |= {part for word in words if not _is_date(word) for part in re.split(r"[-_.]", word)}
    return {word for word in words if len(word) > 1 or not word.isascii()}


def _is_date(word: str) -> bool:
    return _forms_of_date(re.sub(r"[./-]", "", word)) != ""


def _pattern_of(word: str) -> re.Pattern[str]:
    """Return what finds a word of an identity: alone or, if it is long, anywhere; a date of birth in any form."""
    if forms := _forms_of_date(re.sub(r"[./-]", "", word)):
        return re.compile(rf"(?<!\d)(?:{forms})(?!\d)", re.IGNORECASE)
    found = re.escape(word)
    if len(word) < WHOLE_WORD and word.isascii():
        found = rf"(?<![^\W_]){found}(?![^\W_])"
    return re.compile(found, re.IGNORECASE)


def _forms_of_date(digits: str) -> str:
    """Return the usual ways to write a date given as YYYYMMDD or DDMMYYYY; empty if it is none."""
    found = DATE.fullmatch(digits)
    if found is None:
        return ""
    year, month, day = found["year"] or found["year2"], int(found["m"] or found["m2"]), int(found["d"] or found["d2"])
    d, m, name = f"0?{day}", f"0?{month}", rf"{MONTHS[month - 1]}[a-z]*"
    whole = [f"{year}{GAP}{m}{GAP}{d}", f"{d}{GAP}{m}{GAP}{year}", f"{m}{GAP}{d}{GAP}{year}"]
    short = [f"{a}[./-]{b}[./-]{c}" for a, b, c in ((d, m, year[2:]), (m, d, year[2:]), (year[2:], m, d))]
    named = [
        rf"{d}(?:st|nd|rd|th)?{GAP}{name}{GAP},?{GAP}{year}",
        rf"{name}{GAP}{d}(?:st|nd|rd|th)?,?{GAP}{year}",
        rf"{year}{GAP}{name}{GAP}{d}",
    ]
    return "|".join([*whole, *short, *named])
