"""The process that reduces one job: `python -m acdnet.viewer.work JOB_FOLDER KIND`.

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

from acdnet.errors import AcdnetError, ResourceError
from acdnet.files import write_atomically
from acdnet.viewer.states import PROGRESS, RESULT, UPLOAD

EVERY = 0.3
"""Seconds between two notes of progress."""


def main() -> int:
    """Reduce; return the exit code."""
    place, kind = Path(sys.argv[1]), sys.argv[2]
    threading.Thread(target=_end_with_the_server, daemon=True).start()

    def tell(**values: object) -> None:
        write_atomically({place / PROGRESS: json.dumps(values).encode()})

    tell(what="reading", done=0, total=0)
    try:
        _reduce(place, kind, tell)
    except AcdnetError as error:
        taken = isinstance(error, ResourceError) and "another process" in str(error)
        tell(message=_without_paths(str(error), place), taken=taken)
        return error.exit_code
    except Exception as error:
        tell(message=f"it failed for a reason that was not foreseen ({type(error).__name__})")
        return 1
    return 0


def _reduce(place: Path, kind: str, tell: object) -> None:
    from acdnet.reduction.job import Settings, run_job
    from acdnet.reduction.report import cautions
    from acdnet.scans.open import Opening, open_scan

    assert callable(tell)
    upload = place / UPLOAD
    source = upload if kind == "dicom" else upload / f"00001.{kind}"
    if (place / RESULT).is_dir():
        return  # it was finished when the server stopped
    scan = open_scan(source, Opening())
    last = 0.0

    def progress(what: str, done: int, total: int) -> None:
        nonlocal last
        if done == total or time.monotonic() - last > EVERY:
            last = time.monotonic()
            tell(what=what, done=done, total=total)

    finished = run_job(scan, source, place / RESULT, Settings(), progress)
    skipped = [f"skipped: {count} {reason}" for reason, count in finished.skipped.items()]
    tell(message="; ".join([*cautions(finished.records), *skipped]))


def _without_paths(text: str, place: Path) -> str:
    """Leave out where the server keeps things."""
    return (
        text.replace(f"{place / UPLOAD}{os.sep}", "file ")
        .replace(str(place / UPLOAD), "the scan")
        .replace(str(place), "the job")
    )


def _end_with_the_server() -> None:
    while os.read(0, 1):  # not sys.stdin: its lock would be held when the process ends
        pass
    os._exit(143)


if __name__ == "__main__":
    sys.exit(main())
