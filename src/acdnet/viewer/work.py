"""The process that reduces one job: `python -m acdnet.viewer.work JOB_FOLDER HOW`, how to read it as JSON.

It tells how far it is in progress.json, and ends when the pipe to the server does: a server that was killed leaves
nothing behind that works on.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, Protocol

from acdnet.errors import AcdnetError, InputRefused, NeedsChoice, NoSlices, PlaceTaken
from acdnet.files import write_atomically
from acdnet.viewer.states import ANY_PLANE, LOSSY, PROGRESS, RESULT, SERIES, UPLOAD
from acdnet.viewer.unnamed import unnamed

MOST_OFFERED = 100
EVERY = 0.3
"""Seconds between two notes of progress."""


FOREIGN = {
    b"PK": "archives are not opened: unpack it and drop the folder",
    b"\x1f\x8b": "a packed NIfTI volume is dropped alone; archives are not opened",
    b"\x89PNG": "the page takes DICOM and NIfTI; PNGs need their pixel size: acdnet reduce --pixel-mm",
    b"\x93NUMPY": "the page takes DICOM and NIfTI; arrays need their pixel size: acdnet reduce --pixel-mm",
}
"""How files begin that people drop and the page does not take, and what to do with them."""


class Tell(Protocol):
    """Note how far it is, or how it ended."""

    def __call__(self, **values: object) -> None: ...


def main() -> int:
    """Reduce; return the exit code."""
    place, how = Path(sys.argv[1]), json.loads(sys.argv[2])
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    return reduce_job(place, how)


def reduce_job(place: Path, how: dict[str, Any]) -> int:
    """Reduce a job, tell how that ended, and return the exit code."""

    def tell(**values: object) -> None:
        write_atomically({place / PROGRESS: json.dumps(values).encode()})

    tell(what="reading", done=0, total=0)
    try:
        _reduce(place, how, tell)
    except AcdnetError as error:
        problem, asks = (error.problem, error.choice) if isinstance(error, NeedsChoice) else (str(error), "")
        if not asks and how[SERIES] and isinstance(error, InputRefused):
            asks = SERIES  # another one may do
        tell(
            message=unnamed(problem, place) + (_hint(place / UPLOAD) if isinstance(error, NoSlices) else ""),
            taken=isinstance(error, PlaceTaken),
            asks=asks,
            offered=_titles(place / UPLOAD) if asks == SERIES else [],
        )
        return error.exit_code
    except Exception as error:  # its words may name somebody
        tell(message=f"it failed for a reason that was not foreseen ({type(error).__name__})")
        return 1
    return 0


def _reduce(place: Path, how: dict[str, Any], tell: Tell) -> None:
    from acdnet.scans.open import Opening, open_scan

    upload = place / UPLOAD
    source = upload if how["kind"] == "dicom" else upload / f"00001.{how['kind']}"
    if (place / RESULT).is_dir():
        return  # it was finished when the server stopped
    scan = open_scan(source, Opening(how[SERIES] or None, None, how[ANY_PLANE], how[LOSSY]))

    from acdnet.reduction.job import Settings, run_job  # not before it is clear that they are needed: this is slow
    from acdnet.reduction.report import cautions

    last, told = 0.0, ""

    def progress(what: str, done: int, total: int) -> None:
        nonlocal last, told
        if what != told or done == total or time.monotonic() - last > EVERY:
            last, told = time.monotonic(), what
            tell(what=what, done=done, total=total)

    finished = run_job(scan, source, place / RESULT, Settings(), progress)
    skipped = [f"skipped: {count} {reason}" for reason, count in finished.skipped.items()]
    tell(message="; ".join([*cautions(finished.records), *skipped]))


def _hint(upload: Path) -> str:
    """Return what to do with files that are no slices, if one of them is of a kind that is known."""
    for path in sorted(upload.iterdir()):
        with path.open("rb") as file:
            start = file.read(8)
        for magic, hint in FOREIGN.items():
            if start.startswith(magic):
                return f"; {hint}"
    return ""


def _titles(upload: Path) -> list[str]:
    """Describe the series of an upload, in the order in which they are numbered."""
    from acdnet.dicom.series import find_series

    return [series.title for series in find_series(upload).series[:MOST_OFFERED]]


def _end_with_the_server() -> None:
    while os.read(0, 1):  # not sys.stdin: its lock would be held when the process ends
        pass
    os._exit(143)


if __name__ == "__main__":
    sys.exit(main())
