"""Loops compiled by numba, and threads to run them."""

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
"""Sums may be reordered, but NaN and infinity keep their meaning, so that they are detected."""


def compile_loop(inline: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Compile a loop, cached on disk if possible.

    `inline` loops that are called by other loops: the vectoriser then sees their strides.
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
        except RuntimeError:  # no writable folder, as in a read-only container
            return njit(**options)(function)

    return decorate


def in_threads(work: Callable[[int], None], workers: int) -> None:
    """Call work(0) .. work(workers - 1) in as many threads, each limited to one core, also in torch.

    A single call runs in the calling thread.
    """
    if workers == 1:
        work(0)
        return
    list(_pool(workers).map(work, range(workers)))


def shared_out(count: int, loop: Callable[[int, int], None]) -> None:
    """Call loop(first, last) for consecutive shares of range(count), one per thread of torch."""
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
    list(pool.map(lambda _: time.sleep(0.01), range(workers)))  # start all threads now
    torch.set_num_threads(before)  # the setting of a worker is also the default of later threads
    return pool


if hasattr(os, "register_at_fork"):  # a forked process inherits the pool without its threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
