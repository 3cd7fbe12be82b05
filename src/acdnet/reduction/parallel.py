"""Process slices in parallel, one core each; the number of workers does not change the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch

from acdnet.methods.method import Method

MAX_WORKERS = 8
Item = TypeVar("Item")
Output = TypeVar("Output")


def in_parallel(work: Callable[[Item], Output], items: Iterable[Item], workers: int) -> Iterator[tuple[Item, Output]]:
    """Call work(item) in threads limited to one core each, also in torch; yield (item, output) in order."""
    before = torch.get_num_threads()
    pool = ThreadPoolExecutor(workers, "slices", initializer=torch.set_num_threads, initargs=(1,))
    pending: list[tuple[Item, Future[Output]]] = []
    try:
        for item in items:
            pending.append((item, pool.submit(work, item)))
            if len(pending) > workers:
                first, future = pending.pop(0)
                yield first, future.result()
        for first, future in pending:
            yield first, future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        torch.set_num_threads(before)


def worker_count(method: Method, wanted: int, items: int) -> int:
    """Return the number of workers: `wanted`, all cores for 0, and a single one for a GPU."""
    if method.device.type != "cpu":
        return 1
    return max(1, min(core_count(wanted), items))


def core_count(wanted: int) -> int:
    """Return the number of cores to use: `wanted`, or all for 0, at most 8."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return wanted or min(cores, MAX_WORKERS)
