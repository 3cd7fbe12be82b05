"""Small scans with metal, quick to make and quick to reduce."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
from numpy.typing import NDArray
from typer.testing import CliRunner

from acdnet.cli.app import app
from acdnet.errors import AcdnetError
from acdnet.io.dicom.create import new_series, write_series

SPACING = (3.0, 2.0, 2.0)
SIZE = 96


def body(size: int = SIZE, metal_hu: float = 3071.0, metal: bool = True) -> NDArray[np.float32]:
    """Return an asymmetric body in air with bone, a streak, and a metal disc off its centre."""
    y, x = np.mgrid[:size, :size] / size - 0.5
    hu = np.full((size, size), -1000.0, np.float32)
    hu[(x / 0.42) ** 2 + (y / 0.33) ** 2 < 1] = 40.0
    hu[(x + 0.2) ** 2 + (y - 0.1) ** 2 < 0.006] = 700.0
    hu[(x - 0.05) ** 2 + (y + 0.2) ** 2 < 0.003] = -100.0
    if metal:
        disc = (x - 0.15) ** 2 + (y - 0.02) ** 2 < 0.002
        hu[(np.abs(y - 0.02) < 0.03) & (hu > -500)] += 150.0
        hu[disc] = metal_hu
    return hu


def volume(metal: tuple[bool, ...] = (False, True, True), **kwargs: Any) -> NDArray[np.float32]:
    """Return slices of bodies, with metal where it is said."""
    return np.stack([body(metal=one, **kwargs) for one in metal])


def series(folder: Path, metal: tuple[bool, ...] = (False, True, True), hu: Any = None, **tags: Any) -> Path:
    """Write a DICOM series."""
    data = volume(metal) if hu is None else np.asarray(hu)
    return write_series(folder, new_series(data, SPACING, "Secret", **tags))


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    text: str
    """What it printed, or the one line of its error."""
    output: str = ""
    """What it printed before the error."""


def run(*arguments: object) -> Ran:
    """Run the command line in this process; an error of the program ends as its line and code would."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(done.exception, AcdnetError):
        assert "\n" not in str(done.exception)
        return Ran(done.exception.exit_code, str(done.exception), done.output)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Ran(done.exit_code, done.output)


def reduce(source: Path, out: Path, *options: object) -> Ran:
    """Run `acdnet reduce` with LI, which is quick."""
    return run("reduce", source, out, "--method", "li", *options)


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


def change_report(out: Path, **values: Any) -> Path:
    """Change values in the report of a result."""
    (out / "report.json").write_text(json.dumps(report(out) | values))
    return out
