"""The kinds of damaged input."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.fuzz import altered, dicom, requests, texts, volumes
from tests.fuzz.run import CODES, Make, judge

KINDS: dict[str, Make] = {
    "dicom-bytes": dicom.dicom_bytes,
    "dicom-tags": dicom.dicom_tags,
    "dicom-compressed": dicom.dicom_compressed,
    "npy": volumes.npy,
    "nifti": volumes.nifti,
    "png": volumes.png,
    "json": texts.json_files,
    "toml": texts.toml,
    "checkpoint": texts.checkpoint,
}
VIEWER: dict[str, Callable[[int, int, Path], Counter[str]]] = {
    "requests": requests.requests,
    "results": altered.altered,
}
"""Kinds of input for the viewer: count, seed and folder give how the inputs ended; a wrong end is an AssertionError."""


def warm_up(folder: Path) -> None:
    """Make the sound files and run one case of each kind here, so that processes start with everything compiled."""
    for name, make in KINDS.items():
        for number in range(3):
            place = folder / f"warm-{name}-{number}"
            place.mkdir()
            end = judge(make(random.Random(number), place), place, folder)
            if end not in CODES.values():
                print(f"{name}: {end}")  # it is counted in the run
