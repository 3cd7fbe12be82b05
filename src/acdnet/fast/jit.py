"""Loops compiled by numba, and threads to run them in."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import torch
from numba import njit

FAST_MATH = {"contract", "reassoc"}
"""Sums may be reordered, but NaN and infinity keep their meaning: what is not finite has to be seen as such."""


def compile_loop(inline: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Compile a loop; keep the result for the next start where there is a place to write it.

    Loops that call loops want them inlined: the vectoriser then sees their strides.
    """
    options: dict[str, Any] = {
        "nogil": True,
        "fastmath": FAST_MATH,
        "inline": "always" if inline else "never",
        "error_model": "numpy",
    }

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:  # no folder to write to, as in a container that may only be read
            return njit(**options)(function)

    return decorate


def in_threads(work: Callable[[int], None], workers: int) -> None:
    """Call work(0) .. work(workers - 1) in as many threads that use one core each, torch included.

    A single one is called right here: threads that have one core each do not wait for each other.
    """
    if workers == 1:
        work(0)
        return
    list(_pool(workers).map(work, range(workers)))


def shared_out(count: int, loop: Callable[[int, int], None]) -> None:
    """Call loop(first, last) for consecutive shares of range(count), one share a thread of torch."""
    workers = min(torch.get_num_threads(), count)
    if workers <= 1:
        loop(0, count)
        return
    edges = [count * i // workers for i in range(workers + 1)]
    in_threads(lambda i: loop(edges[i], edges[i + 1]), workers)


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    before = torch.get_num_threads()
    pool = ThreadPoolExecutor(workers, "acdnet", initializer=torch.set_num_threads, initargs=(1,))
    list(pool.map(lambda _: time.sleep(0.01), range(workers)))  # start them all now
    torch.set_num_threads(before)  # what a worker sets is also the default of threads yet to come
    return pool


if hasattr(os, "register_at_fork"):  # a forked process has the pool, but not its threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
