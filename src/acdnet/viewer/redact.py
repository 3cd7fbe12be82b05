"""Remove server paths and patient names from error messages before they are stored or shown."""

from __future__ import annotations

import os
import re
from pathlib import Path

from acdnet.viewer.job import UPLOAD

IDENTITY = ("PatientName", "PatientID", "PatientBirthDate", "OtherPatientNames", "PatientBirthName")
MIN_WORD = 3
"""Shorter words of a name are kept."""


def redact(text: str, folder: Path) -> str:
    """Remove the paths of a job and its patient's identity; an error that quotes a tag may contain either."""
    for word in _identity(text, folder / UPLOAD):
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", "...", text, flags=re.IGNORECASE)
    return (
        text.replace(f"{folder / UPLOAD}{os.sep}", "file ")
        .replace(str(folder / UPLOAD), "the scan")
        .replace(str(folder), "the job")
    )


def _identity(text: str, upload: Path) -> set[str]:
    """Return the identifying words in the files that an error mentions, or in the first file."""
    import pydicom

    files = sorted(upload.iterdir()) if upload.is_dir() else []
    words: set[str] = set()
    for file in [file for file in files if str(file) in text] or files[:1]:
        try:
            header = pydicom.dcmread(file, stop_before_pixels=True, specific_tags=list(IDENTITY))
            values = " ".join(str(header.get(tag, "")) for tag in IDENTITY)
        except Exception:  # noqa: S112 an unreadable file cannot have put a name into the error
            continue
        words |= {word for word in re.split(r"[\s^=\\,']+", values) if len(word) >= MIN_WORD}
    return words
