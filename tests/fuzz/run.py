"""Run commands on damaged files in a process with limits, and judge how they end."""

from __future__ import annotations

import io
import json
import os
import random
import resource
import select
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.results import wrong_result

Make = Callable[[random.Random, Path], list[str]]
"""Writes damaged files into an empty folder and returns a command whose output, if any, is `out` in that folder."""
MEMORY = 2**30
SECONDS = 30.0
PER_PROCESS = 200
"""Cases per process; a new one starts with the memory of the first."""
CODES = {0: "result", 4: "result", 2: "exit 2", 3: "exit 3", 5: "exit 5"}
FAILED = "failed"


@dataclass
class Tally:
    """How the cases of a kind ended."""

    ends: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    """Number of the case, and what is wrong."""
    seconds: float = 0.0
    slowest: float = 0.0


def fuzz(name: str, make: Make, folder: Path, count: int, seed: int, keep: Path | None = None) -> Tally:
    """Run `count` cases of a kind, and keep the input of those that fail."""
    tally, done, start = Tally(), 0, time.monotonic()
    while done < count:
        last = min(done + PER_PROCESS, count)
        for number, end, seconds in _cases(make, folder, range(done, last), f"{name} {seed}"):
            tally.ends[end if end in CODES.values() else FAILED] += 1
            tally.slowest = max(tally.slowest, seconds)
            if end not in CODES.values():
                tally.failures.append((number, end))
                if keep is not None:
                    _keep(make, keep / f"{name}-{seed}-{number}", f"{name} {seed} {number}", end)
            done = number + 1
    tally.seconds = time.monotonic() - start
    return tally


def _keep(make: Make, place: Path, seed: str, end: str) -> None:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    command = make(random.Random(seed), place)
    (place / "failure.txt").write_text(f"{' '.join(map(ascii, command))}\n{end}\n", errors="backslashreplace")


def _cases(make: Make, folder: Path, numbers: range, seed: str) -> Iterator[tuple[int, str, float]]:
    """Run cases in a child process until one ends it; yield number, end and seconds of each."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(make, folder, numbers, seed, writing)
    os.close(writing)
    started = time.monotonic()
    with open(reading, "rb", buffering=0) as pipe:  # noqa: PTH123 a pipe
        for number in numbers:
            ready = select.select([pipe], [], [], SECONDS)[0]
            line = pipe.readline() if ready else b""
            seconds, started = time.monotonic() - started, time.monotonic()
            if line:
                yield number, json.loads(line), seconds
                continue
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
            yield number, f"the process ended ({status})" if ready else f"not done after {SECONDS:g} s", seconds
            return
    os.waitpid(child, 0)


def _work(make: Make, folder: Path, numbers: range, seed: str, results: int) -> None:
    """Run cases in this process and end it."""
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        for number in numbers:
            place = folder / "case"
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            try:
                end = judge(make(random.Random(f"{seed} {number}"), place), place, folder)
            except Exception:
                end = traceback.format_exc()
            os.write(results, json.dumps(end).encode() + b"\n")
    finally:
        os._exit(0)


def judge(command: list[str], place: Path, folder: Path) -> str:
    """Run a command; return how it ended as in CODES, or what is wrong."""
    before = set(place.iterdir())
    code, out, err = _run(command, folder)
    left = set(place.iterdir()) - before
    if code not in CODES:
        return f"exit {code}: {err[-3000:]}"
    if "Traceback" in out + err or "out of memory" in err:
        return f"exit {code}: {err[-3000:]}"
    if code in (0, 4):
        if not all(path.stem == "out" for path in left):
            return f"exit {code}: left {sorted(path.name for path in left)}"
        wrong = wrong_result(place / "out") if command[0] == "reduce" else ""
        return f"exit {code}: {wrong or err[-3000:]}" if wrong or err else CODES[code]
    if not (err.startswith("acdnet: ") and err.endswith("\n") and err[:-1].isprintable() and len(err) < 3000):
        return f"exit {code}: not one line: {err[-3000:]!a}"
    return CODES[code] if not left else f"exit {code}: left {sorted(path.name for path in left)}"


def _run(command: list[str], folder: Path) -> tuple[int, str, str]:
    """Run the command line in this process; return its exit code and what it printed, also from compiled code."""
    from acdnet.cli.app import main

    sys.argv = ["acdnet", *command]
    with _printed(folder / "stdout", 1), _printed(folder / "stderr", 2):
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", errors="surrogateescape")
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), "utf-8", line_buffering=True)
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            os.write(2, traceback.format_exc().encode(errors="backslashreplace"))
            code = -1
        sys.stdout.flush()
        sys.stderr.flush()
    out, err = ((folder / name).read_text(errors="backslashreplace") for name in ("stdout", "stderr"))
    return code, out, err


@contextmanager
def _printed(path: Path, handle: int) -> Iterator[None]:
    """Send what is written to a file descriptor to a file."""
    before = os.dup(handle)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, handle)
    os.close(file)
    try:
        yield
    finally:
        os.dup2(before, handle)
        os.close(before)
