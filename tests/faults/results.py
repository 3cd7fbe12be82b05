"""Reading and comparing results of `acdnet reduce`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pydicom


def report(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "report.json").read_text())
    return found


def pixels(folder: Path) -> np.ndarray[Any, Any]:
    files = sorted(folder.glob("*.dcm"))
    return np.stack([pydicom.dcmread(file).pixel_array for file in files])


def same_but_for_the_time(a: Path, b: Path) -> bool:
    """Tell whether two results hold the same images and the same report."""
    names = sorted(path.name for path in (a / "reduced").iterdir())
    for kind in ("reduced", "difference"):
        for name in names:
            one, two = (pydicom.dcmread(folder / kind / name) for folder in (a, b))
            if any(one[tag] != two[tag] for tag in ("PixelData", "SOPInstanceUID", "SeriesInstanceUID")):
                return False
    ours, theirs = ({k: v for k, v in report(folder).items() if k != "created"} for folder in (a, b))
    return ours == theirs
