"""The process that reduces one job: `python -m acdnet.viewer.worker JOB_FOLDER OPTIONS`, options as JSON.

It reports to progress.json and exits when the server closes its pipe, so that no worker outlives a killed server.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, Protocol

from acdnet.errors import AcdnetError, InputRefused, NeedsChoice, NoSlices, PlaceTaken, ResourceError
from acdnet.files import write_atomically
from acdnet.viewer.job import ANY_PLANE, LOSSY, PROGRESS, SERIES, UPLOAD
from acdnet.viewer.memory import limit_memory, memory_limit
from acdnet.viewer.redact import Redaction
from acdnet.viewer.safe_read import refuse_link, refuse_links

MAX_CHOICES = 100
OUT_OF_MEMORY = "the scan needs more memory than there is; upload fewer slices, or use acdnet reduce --workers 1"
REPORT_SECONDS = 0.3
"""Interval between progress reports."""

HINTS = {
    b"PK": "archives are not opened; unpack the archive and drop the folder",
    b"\x1f\x8b": "drop a compressed NIfTI volume by itself; archives are not opened",
    b"\x89PNG": "the page accepts DICOM and NIfTI; PNGs need a pixel size: acdnet reduce --pixel-mm",
    b"\x93NUMPY": "the page accepts DICOM and NIfTI; arrays need a pixel size: acdnet reduce --pixel-mm",
}
"""What to do with files of unsupported types, by their first bytes."""


class Report(Protocol):
    """Write progress or the outcome to progress.json."""

    def __call__(self, **values: object) -> None: ...


def main() -> int:
    """Reduce the job named on the command line; return the exit code."""
    folder, options = Path(sys.argv[1]), json.loads(sys.argv[2])
    threading.Thread(target=_exit_with_server, daemon=True).start()
    limit_memory(memory_limit())
    return reduce_job(folder, options)


def reduce_job(folder: Path, options: dict[str, Any]) -> int:
    """Reduce a job, report the outcome, and return the exit code."""

    def report(**values: object) -> None:
        write_atomically({folder / PROGRESS: json.dumps(values).encode()})

    report(what="reading", done=0, total=0)
    try:
        _reduce(folder, options, report)
    except AcdnetError as error:
        problem, needs = (error.problem, error.choice) if isinstance(error, NeedsChoice) else (str(error), "")
        if not needs and options[SERIES] and isinstance(error, InputRefused):
            needs = SERIES  # another series may work
        hide = Redaction(folder, problem)
        report(
            message=hide(problem) + (_hint(folder / UPLOAD) if isinstance(error, NoSlices) else ""),
            busy=isinstance(error, PlaceTaken),
            needs=needs,
            choices=[hide(title) for title in _titles(folder / UPLOAD)] if needs == SERIES else [],
        )
        return error.exit_code
    except Exception as error:
        if isinstance(error, MemoryError) or "allocate memory" in str(error):  # the message of torch
            report(message=OUT_OF_MEMORY)
            return ResourceError.exit_code
        # its message may contain patient data
        report(message=f"unexpected error ({type(error).__name__})")
        return 1
    return 0


def _reduce(folder: Path, options: dict[str, Any], report: Report) -> None:
    from acdnet.io.open import Opening, open_scan

    upload = folder / UPLOAD
    refuse_link(upload)
    refuse_links(upload)
    source = upload if options["kind"] == "dicom" else upload / f"00001.{options['kind']}"
    out = folder / options["target"]
    if out.is_dir():
        return  # finished just before the server stopped
    scan = open_scan(source, Opening(options[SERIES] or None, None, options[ANY_PLANE], options[LOSSY]))

    from acdnet.reduction.files import run_job  # slow imports, not needed for a scan that is refused
    from acdnet.reduction.report import cautions
    from acdnet.reduction.settings import Settings

    reported, current = 0.0, ""

    def progress(what: str, done: int, total: int) -> None:
        nonlocal reported, current
        if what != current or done == total or time.monotonic() - reported > REPORT_SECONDS:
            reported, current = time.monotonic(), what
            report(what=what, done=done, total=total)

    settings = Settings(keep=tuple(options["keep"]), drop=tuple(options["drop"]))
    finished = run_job(scan, source, out, settings, progress)
    skipped = [f"skipped: {count} {reason}" for reason, count in finished.skipped.items()]
    notes = [*cautions(finished.reports, finished.objects.reports()), *skipped]
    report(message=Redaction(folder)("; ".join(notes)))


def _hint(upload: Path) -> str:
    """Return advice for the first file of an unsupported type."""
    for path in sorted(upload.iterdir()):
        with path.open("rb") as file:
            start = file.read(8)
        for magic, hint in HINTS.items():
            if start.startswith(magic):
                return f"; {hint}"
    return ""


def _titles(upload: Path) -> list[str]:
    """Describe the series of an upload in the order of their numbers."""
    from acdnet.io.dicom.series import find_series

    return [series.title for series in find_series(upload).series[:MAX_CHOICES]]


def _exit_with_server() -> None:
    while os.read(0, 1):  # not sys.stdin: the interpreter would wait for its lock at exit
        pass
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)  # also the processes it has started
    os._exit(143)


if __name__ == "__main__":
    sys.exit(main())
