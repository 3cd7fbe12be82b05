"""What `acdnet reduce` does when it is stopped, or when the disk or the memory is full."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from acdnet.files import locked
from acdnet.reduction.output import MARK
from acdnet.reduction.slices import SliceTask, reduce_slices
from tests.reduction.make import reduce, same_but_for_the_time, series


def command(source: Path, out: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "acdnet", "reduce", str(source), str(out), "--method", "li", *options]


@pytest.mark.slow
def test_f44_killed_and_started_again(tmp_path: Path) -> None:
    """Kill -9 at several moments: nothing under the final name until all is done, then the usual result."""
    source = series(tmp_path / "in", (True,) * 30)
    assert reduce(source, tmp_path / "whole").code == 0
    partial, hits = tmp_path / ".out.partial", 0
    moments: list[Callable[[], bool]] = [
        lambda: partial.exists(),
        lambda: len(list(partial.rglob("*.npz"))) >= 3,
        lambda: len(list(partial.rglob("*.npz"))) >= 20,
        lambda: len(list(partial.rglob("*.dcm"))) >= 5,
    ]
    for reached in moments:
        process = subprocess.Popen(command(source, tmp_path / "out", "--workers", "1"), stdout=subprocess.DEVNULL)
        while not reached() and process.poll() is None:
            time.sleep(0.002)
        process.kill()
        hits += process.wait() == -signal.SIGKILL
        if (tmp_path / "out").exists():
            break
    assert hits >= 3
    if not (tmp_path / "out").exists():
        assert reduce(source, tmp_path / "out").code == 0
    assert same_but_for_the_time(tmp_path / "whole", tmp_path / "out")
    assert not (tmp_path / ".out.partial").exists()


def test_f44_finished_slices_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, interrupt = series(tmp_path / "in", (True,) * 4), True
    calls: list[int] = []

    def counted(tasks: Sequence[SliceTask], *arguments: Any) -> Any:
        calls.extend(task.number for task in tasks)
        if len(calls) == 3 and interrupt:
            raise KeyboardInterrupt
        return reduce_slices(tasks, *arguments)

    monkeypatch.setattr("acdnet.reduction.files.reduce_slices", counted)
    done = reduce(source, tmp_path / "out", "--workers", 1)
    assert done.code == 130
    assert not (tmp_path / "out").exists()
    interrupt = False
    assert reduce(source, tmp_path / "out", "--workers", 1).code == 0
    assert sorted(calls) == [0, 1, 2, 2, 3]


def test_f44_a_damaged_slice_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = series(tmp_path / "in", (True,) * 2)
    with monkeypatch.context() as patched:
        patched.setattr("acdnet.reduction.files._write", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            reduce(source, tmp_path / "out")
    kept = sorted((tmp_path / ".out.partial").rglob("*.npz"))
    assert len(kept) == 2
    kept[0].write_bytes(kept[0].read_bytes()[:100])
    assert reduce(source, tmp_path / "out").code == 0
    assert reduce(source, tmp_path / "again").code == 0
    assert same_but_for_the_time(tmp_path / "out", tmp_path / "again")


def test_f45_a_full_or_closed_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = series(tmp_path / "in")
    real = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        if self.suffix == ".dcm":
            raise OSError(errno.ENOSPC, "No space left on device", str(self))
        return real(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    done = reduce(source, tmp_path / "out")
    assert done.code == 5
    assert "No space left" in done.text
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    assert reduce(source, tmp_path / "out").code == 0


def test_f47_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("acdnet.reduction.files.reduce_slices", none_left)
    done = reduce(series(tmp_path / "in"), tmp_path / "out")
    assert done.code == 5
    assert "--workers 1" in done.text
    assert not (tmp_path / "out").exists()


def test_f48_two_processes_one_output(tmp_path: Path) -> None:
    source = series(tmp_path / "in")
    (tmp_path / ".out.partial").mkdir()
    (tmp_path / ".out.partial" / MARK).touch()
    with locked(tmp_path / ".out.partial/.lock"):
        done = reduce(source, tmp_path / "out")
    assert done.code == 5
    assert "another process" in done.text
    assert reduce(source, tmp_path / "out").code == 0


def test_f49_ctrl_c(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,) * 40)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background
    process = subprocess.Popen(
        command(source, tmp_path / "out", "--workers", "1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while (
        not list((tmp_path / ".out.partial").rglob("*.npz")) and time.monotonic() < deadline and process.poll() is None
    ):
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert not (tmp_path / "out").exists()
    assert list((tmp_path / ".out.partial").rglob("*.npz"))


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("module", ["typer", "acdnet.cli.view", "acdnet.viewer.app", "uvicorn", "acdnet.viewer.jobs"])
def test_f49_ctrl_c_in_the_first_second(module: str, lost: bool, tmp_path: Path) -> None:
    """Ctrl-C while a module is being imported, also where Python loses the exception."""
    finder = f"""
import signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == {module!r}:
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                if not {lost}:
                    raise
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Finder())
from acdnet.cli import main
sys.argv[1:] = ["serve", "--no-browser", "--folder", {str(tmp_path / "jobs")!r}]
main()
"""
    done = subprocess.run([sys.executable, "-c", finder], capture_output=True, text=True, timeout=60)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert not [*tmp_path.rglob(".lock")]
