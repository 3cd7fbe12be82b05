"""The results that the page can open: those named when it was started, and those of finished jobs."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Lock

from acdnet.errors import InputRefused
from acdnet.viewer.inside import Desk, Inside
from acdnet.viewer.jobs import Jobs
from acdnet.viewer.layer import Result
from acdnet.viewer.result import open_result

OPEN_RESULTS = 4


class Shown:
    """What is open at the moment."""

    def __init__(self, results: dict[str, Path], jobs: Jobs | None, model: str = "") -> None:
        self.named, self.jobs, self.model = results, jobs, model
        self.opened: dict[str, tuple[Result, Inside]] = {}
        self.opening: dict[str, Lock] = {}
        self.lock, self.desk = Lock(), Desk()

    def open(self, name: str) -> tuple[Result, Inside]:
        """Open a result by its name. That can take seconds, for which only those wait who want the same."""
        with self.lock:
            if name in self.opened:
                return self._look(name)
            turn = self.opening.setdefault(name, Lock())
        with turn:
            try:
                return self._open(name)
            finally:
                with self.lock:
                    self.opening.pop(name, None)

    def _open(self, name: str) -> tuple[Result, Inside]:
        with self.lock:
            if name in self.opened:  # somebody else was first
                return self._look(name)
        result = open_result(self._folder(name))
        with self.lock:
            self._folder(name)  # it may have been deleted meanwhile
            if name not in self.opened:
                while len(self.opened) >= OPEN_RESULTS:
                    self._close(next(iter(self.opened)))
                self.opened[name] = result, Inside(result, self.model, self.desk)
            return self._look(name)

    def forget(self, name: str) -> None:
        """Close a result."""
        with self.lock:
            self._close(name)

    def without_paths(self, text: str) -> str:
        """Leave out where the server keeps things."""
        for folder in (*self.named.values(), *([self.jobs.folder] if self.jobs else [])):
            text = text.replace(f"{folder}{os.sep}", "").replace(str(folder), "the result")
        return text

    def _folder(self, name: str) -> Path:
        folder = self.named.get(name) or (self.jobs.result(name) if self.jobs else None)
        if folder is None:
            raise InputRefused("no such result")
        return folder

    def _look(self, name: str) -> tuple[Result, Inside]:
        """Return what is open; the one that was not looked at for longest is closed first."""
        self.opened[name] = self.opened.pop(name)
        return self.opened[name]

    def _close(self, name: str) -> None:
        if name in self.opened:
            self.opened.pop(name)[1].forget()
