"""Share series among processes of this machine; a series whose process is killed gets a second one."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import cast

from acdnet.batch.find import Task
from acdnet.batch.rows import FAILED, Row, write_row
from acdnet.batch.work import Plan, reduce_task
from acdnet.errors import AcdnetError

ATTEMPTS = 2
END_SECONDS = 10.0


@dataclass
class _Worker:
    process: BaseProcess
    task: Task


def in_processes(tasks: Sequence[Task], plan: Plan, workers: int) -> Iterator[tuple[Task, Row | None]]:
    """Yield the row of every series as it is finished."""
    waiting, attempts = deque(tasks), dict.fromkeys((task.key for task in tasks), 0)
    running: dict[Connection, _Worker] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                pipe, process = _start(plan)
                running[pipe] = _Worker(process, waiting[0])
                _give(pipe, waiting.popleft(), attempts)
            for pipe in cast(list[Connection], wait(list(running))):
                worker = running[pipe]
                try:
                    answer = pipe.recv()
                except (EOFError, OSError):
                    del running[pipe]
                    code = _end(pipe, worker.process)
                    if attempts[worker.task.key] < ATTEMPTS:
                        waiting.appendleft(worker.task)
                    else:
                        row = Row(worker.task.key, FAILED, reason=f"its process ended twice ({_described(code)})")
                        write_row(Path(plan.out), row)
                        yield worker.task, row
                    continue
                if isinstance(answer, AcdnetError):
                    raise answer
                done = worker.task
                if waiting:
                    worker.task = waiting.popleft()
                    _give(pipe, worker.task, attempts)
                else:
                    del running[pipe]
                    _end(pipe, worker.process)
                yield done, answer
    finally:
        for pipe, worker in running.items():
            worker.process.terminate()
            _end(pipe, worker.process)


def _start(plan: Plan) -> tuple[Connection, BaseProcess]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, plan), daemon=True)
    process.start()
    theirs.close()
    return ours, process


def _give(pipe: Connection, task: Task, attempts: dict[str, int]) -> None:
    """Send a task; a process that has ended is found when its answer is read."""
    attempts[task.key] += 1
    with contextlib.suppress(OSError):
        pipe.send(task)


def _end(pipe: Connection, process: BaseProcess) -> int | None:
    """End a process that has nothing to do, and return its exit code."""
    pipe.close()
    process.join(END_SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode


def _described(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"


def _work(pipe: Connection, plan: Plan) -> None:
    """Reduce series until the pipe is closed."""
    from acdnet.fast.malloc import keep_freed_memory
    from acdnet.messages import quiet_libraries

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the first one ends the others
    quiet_libraries()
    keep_freed_memory()
    with contextlib.suppress(EOFError, OSError):
        while True:
            task = pipe.recv()
            try:
                answer: object = reduce_task(task, plan)
            except AcdnetError as error:
                answer = error
            pipe.send(answer)
