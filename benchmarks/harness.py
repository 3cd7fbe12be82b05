"""What the benchmarks share: runs in turns, processes of their own, memory, and tables."""

from __future__ import annotations

import argparse
import inspect
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import rich.table
from rich.console import Console

ROOT = Path(__file__).parents[1]
LEAST_WIDTH = 150
"""Columns of characters that the widest table needs."""


@dataclass(frozen=True)
class Table:
    """What a benchmark measured, for the terminal and for a page."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    texts: int = 1
    """The number of leading columns that hold text; the others hold numbers."""

    def print(self) -> None:
        """Print the table and its notes."""
        table = rich.table.Table(*self.columns)
        for row in self.rows:
            table.add_row(*(re.sub(r"\*\*(.*?)\*\*", r"[bold]\1[/]", cell) for cell in row))
        console = Console(width=max(Console().width, LEAST_WIDTH))
        console.print(table)
        for note in self.notes:
            console.print(note)

    def markdown(self) -> str:
        """Return the table and its notes as Markdown."""
        lines = [self.columns, ["---"] * self.texts + ["---:"] * (len(self.columns) - self.texts), *self.rows]
        notes = self.notes if len(self.notes) == 1 else [f"- {note}" for note in self.notes]
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return "\n\n".join([table, "\n".join(notes)]).strip()


def main(measure: Callable[..., Table]) -> None:
    """Print what a benchmark measures; the parameters of `measure` are the options of the command."""
    parser = argparse.ArgumentParser(description=sys.modules[measure.__module__].__doc__)
    for name, parameter in inspect.signature(measure).parameters.items():
        parser.add_argument(f"--{name}", type=type(parameter.default), default=parameter.default)
    measure(**vars(parser.parse_args())).print()


def put(path: Path, name: str, text: str) -> None:
    """Put a text between the two markers of its name."""
    marked, count = re.subn(
        rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)",
        lambda m: f"{m[1]}\n{text}\n\n{m[2]}",
        path.read_text(),
        flags=re.DOTALL,
    )
    if count != 1:
        raise SystemExit(f"{path}: the markers of {name!r} are missing")
    path.write_text(marked)


def alternate(runs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Run all in turn and return the median seconds of each; a first round warms up."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def run_python(*arguments: str) -> str:
    """Run Python in a process of its own, in the repository; return the last line that it prints."""
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"python {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout.splitlines()[-1]


def megabytes(field: str) -> float:
    """Return the present (VmRSS) or peak (VmHWM) memory of this process; Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def forget_peak() -> None:
    """Let the peak of memory start from the present memory."""
    Path("/proc/self/clear_refs").write_text("5")
