"""Batches of examples, read ahead by threads during training."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from acdnet.errors import InputRefused
from acdnet.train.tasks.task import Batch, Examples


class Batches:
    """Batches of examples, read ahead by threads; each process takes its share of every batch."""

    def __init__(
        self,
        examples: Examples,
        collate: Callable[[list[Any]], Batch],
        batch: int,
        first: int = 0,
        rank: int = 0,
        ranks: int = 1,
        loaders: int = 1,
    ) -> None:
        if batch % ranks:
            raise InputRefused(f"a batch of {batch} cannot be divided evenly among {ranks} processes")
        self.examples, self.collate, self.batch, self.next = examples, collate, batch, first
        self.mine = range(rank * batch // ranks, (rank + 1) * batch // ranks)
        self.pool = ThreadPoolExecutor(loaders, "examples")
        self.ahead: deque[Future[Batch]] = deque()
        self.depth = 2 * loaders + 2
        self.waited = 0.0
        """Seconds spent waiting for examples."""

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        while len(self.ahead) < self.depth:
            self.ahead.append(self.pool.submit(self._make, self.next))
            self.next += 1
        start = time.perf_counter()
        batch = self.ahead.popleft().result()
        self.waited += time.perf_counter() - start
        return batch

    def _make(self, step: int) -> Batch:
        return self.collate([self.examples[step * self.batch + n] for n in self.mine])

    def close(self) -> None:
        """Stop reading ahead."""
        self.pool.shutdown(wait=True, cancel_futures=True)
