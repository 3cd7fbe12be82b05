"""Errors of a scan as they may be kept and shown: they say where the server keeps things no more than who it is."""

from __future__ import annotations

import os
import re
from pathlib import Path

from acdnet.viewer.states import UPLOAD

IDENTITY = ("PatientName", "PatientID", "PatientBirthDate", "OtherPatientNames", "PatientBirthName")
SHORTEST = 3
"""Letters of a word that is taken for a name."""


def unnamed(text: str, place: Path) -> str:
    """Leave out the folders of a job, and the words of its patient: tags that an error tells may hold anything."""
    for word in _identity(text, place / UPLOAD):
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", "...", text, flags=re.IGNORECASE)
    return (
        text.replace(f"{place / UPLOAD}{os.sep}", "file ")
        .replace(str(place / UPLOAD), "the scan")
        .replace(str(place), "the job")
    )


def _identity(text: str, upload: Path) -> set[str]:
    """Return the words that name the patient of the files that an error is about, or of the first one."""
    import pydicom

    files = sorted(upload.iterdir()) if upload.is_dir() else []
    words: set[str] = set()
    for file in [file for file in files if str(file) in text] or files[:1]:
        try:
            header = pydicom.dcmread(file, stop_before_pixels=True, specific_tags=list(IDENTITY))
            told = " ".join(str(header.get(tag, "")) for tag in IDENTITY)
        except Exception:  # noqa: S112 what cannot be read has named nobody
            continue
        words |= {word for word in re.split(r"[\s^=\\,']+", told) if len(word) >= SHORTEST}
    return words
