"""The log of a run: CSV files, TensorBoard if installed, and a progress bar or lines in the terminal."""

from __future__ import annotations

import csv
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from acdnet.files import write_atomically

STEPS, SCORES = "log.csv", "validation.csv"
QUIET_SECONDS = 60.0
"""Interval of printed lines where there is no terminal."""


class Log:
    """Logs steps and scores; it is active in the first process only."""

    def __init__(self, folder: Path, total: int, done: int, step: int = 0, active: bool = True) -> None:
        self.folder, self.total, self.active = folder, total, active
        for name in (STEPS, SCORES) if active else ():
            _truncate(folder / name, after=step)
        self.console = Console(file=sys.stderr)
        self.board = _board(folder, step) if active else None
        self.bar: Progress | None = None
        self.printed = 0.0
        if active and self.console.is_terminal:
            columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"))
            self.bar = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=self.console)
            self.task = self.bar.add_task("starting", total=total, completed=done)

    def __enter__(self) -> Log:
        if self.bar:
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar:
            self.bar.stop()
        if self.board:
            self.board.close()

    def step(self, done: int, values: dict[str, float]) -> None:
        """Log the state after a step."""
        if not self.active:
            return
        self._append(STEPS, values)
        text = f"loss {values['loss']:.3g}  {values['patches a second']:.1f} patches/s  waiting {values['waiting']:.1%}"
        if self.bar:
            self.bar.update(self.task, completed=done, total=self.total, description=text)
        elif time.monotonic() - self.printed > QUIET_SECONDS:
            self.printed = time.monotonic()
            left = (self.total - done) / max(values["patches a second"], 1e-9)
            self.console.print(
                f"{done}/{self.total} patches  {text}  {left / 60:.0f} min left", highlight=False, soft_wrap=True
            )
        self._plot(values, int(values["step"]))

    def scores(self, step: int, values: dict[str, float]) -> None:
        """Log the scores of a validation."""
        if not self.active:
            return
        self._append(SCORES, {"step": step, **values})
        shown = "  ".join(f"{name} {value:.2f}" for name, value in values.items())
        self.console.print(f"step {step}: {shown}", highlight=False, soft_wrap=True)
        self._plot(values, step)

    def say(self, text: str) -> None:
        """Print a line."""
        if self.active:
            self.console.print(text, highlight=False, soft_wrap=True)

    def _append(self, name: str, values: dict[str, Any]) -> None:
        path = self.folder / name
        fresh = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, list(values))
            if fresh:
                writer.writeheader()
            writer.writerow(values)

    def _plot(self, values: dict[str, float], step: int) -> None:
        if self.board:
            for name, value in values.items():
                self.board.add_scalar(name.replace(" ", "_"), value, step)


def _truncate(path: Path, after: int) -> None:
    """Drop the rows of steps after the last checkpoint of an interrupted run; they are repeated."""
    if not path.exists():
        return
    lines = path.read_text().splitlines(keepends=True)
    kept = [line for line in lines[1:] if line.endswith("\n") and int(float(line.split(",")[0])) <= after]
    write_atomically({path: "".join(lines[:1] + kept).encode()})


def _board(folder: Path, step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1)
