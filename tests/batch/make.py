"""Folders with good and bad series, and work that kills its process."""

import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path

import pydicom

from acdnet.batch import processes
from acdnet.batch.find import Task
from acdnet.batch.work import Plan, reduce_task
from tests.reduction.make import series

METAL = (False, True)


def tree(root: Path, good: int = 2) -> Path:
    """Write good series, one with a damaged tag, one without metal, and files that are no images."""
    for n in range(good):
        name = f"Good{n}"
        series(root / f"Meier^{n}" / "CT", METAL, SeriesInstanceUID=f"1.2.{n}", PatientID=name, StudyInstanceUID="1.2")
    series(root / "plain" / "a", (False,), SeriesInstanceUID="1.3")
    bad = series(root / "Meier^bad", METAL, SeriesInstanceUID="1.4")
    dataset = pydicom.dcmread(bad / "IM0001.dcm")
    dataset.RescaleType = "Meier"
    dataset.save_as(bad / "IM0001.dcm")
    (root / "task.json").write_text("{}")
    (root / "plain" / "notes.dcm").write_bytes(b"no image")
    return root


def die_once(pipe: Connection, plan: Plan) -> None:
    """Die with the first series that any process gets, then work as usual."""
    mark = Path(plan.out) / "died"
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        processes._work(pipe, plan)
        return
    pipe.recv()
    os.kill(os.getpid(), signal.SIGKILL)


class DieAlways:
    """Die with every series of one key."""

    def __init__(self, key: str) -> None:
        self.key = key

    def __call__(self, pipe: Connection, plan: Plan) -> None:
        while True:
            try:
                task: Task = pipe.recv()
            except EOFError:
                return
            if task.key == self.key:
                os.kill(os.getpid(), signal.SIGKILL)
            pipe.send(reduce_task(task, plan))
