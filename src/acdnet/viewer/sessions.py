"""The open results: those named at the start of the server and those of finished jobs."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from acdnet.errors import InputRefused
from acdnet.viewer.job import RESULT
from acdnet.viewer.jobs import Jobs
from acdnet.viewer.result import open_result
from acdnet.viewer.stages import StageCache, StageView
from acdnet.viewer.view_model import ViewModel

MAX_OPEN = 4


class Session(NamedTuple):
    """An open result and its network stages."""

    result: ViewModel
    stages: StageView


class Sessions:
    """The results that are open; the least recently used one is closed when there are too many."""

    def __init__(self, results: dict[str, Path], jobs: Jobs | None, model: str = "") -> None:
        self.results, self.jobs, self.model = results, jobs, model
        self.opened: dict[str, Session] = {}
        self.opening: dict[str, Lock] = {}
        self.lock, self.cache = Lock(), StageCache()

    def open(self, name: str) -> Session:
        """Open a result. This can take seconds, during which only requests for the same result wait."""
        try:
            self._folder(name)
        except InputRefused:
            self.close(name)  # it was deleted or replaced
            raise
        with self.lock:
            if name in self.opened:
                return self._use(name)
            turn = self.opening.setdefault(name, Lock())
        with turn:
            try:
                return self._open(name)
            finally:
                with self.lock:
                    self.opening.pop(name, None)

    def _open(self, name: str) -> Session:
        with self.lock:
            if name in self.opened:  # another request opened it
                return self._use(name)
        result = open_result(self._folder(name))
        with self.lock:
            self._folder(name)  # fails if the job was deleted in the meantime
            if name not in self.opened:
                while len(self.opened) >= MAX_OPEN:
                    self._close(next(iter(self.opened)))
                self.opened[name] = Session(result, StageView(result, self.model, self.cache))
            return self._use(name)

    def close(self, name: str) -> None:
        """Close a result."""
        with self.lock:
            self._close(name)

    def close_job(self, id_: str) -> None:
        """Close the results of a job."""
        with self.lock:
            for name in [name for name in self.opened if name.partition("-")[0] == id_]:
                self._close(name)

    def without_paths(self, text: str) -> str:
        """Remove server paths from an error message."""
        for folder in (*self.results.values(), *([self.jobs.folder] if self.jobs else [])):
            text = text.replace(f"{folder}{os.sep}", "").replace(str(folder), "the result")
        return text

    def _folder(self, name: str) -> Path:
        """Return the folder of a result. Those of jobs are named ID, ID-1, ID-2, ... each time they are replaced."""
        if name in self.results:
            return self.results[name]
        if self.jobs is None:
            raise InputRefused(f"no result {name!r:.40}")
        id_ = name.partition("-")[0]
        folder = self.jobs.result(id_)
        if name != folder.name.replace(RESULT, id_, 1):
            raise InputRefused("this scan was reduced again; open it again")
        return folder

    def _use(self, name: str) -> Session:
        """Return an open result and mark it as the most recently used."""
        self.opened[name] = self.opened.pop(name)
        return self.opened[name]

    def _close(self, name: str) -> None:
        if name in self.opened:
            self.opened.pop(name).stages.close()
