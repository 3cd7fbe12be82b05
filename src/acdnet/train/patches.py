"""Patches for training: which comes n-th depends on the seed and n alone, so that a run can be taken up anywhere."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from acdnet.data.pairs import PairSet
from acdnet.data.store import Pair
from acdnet.errors import InputRefused
from acdnet.units import network_from_hu

AIR_HU = -900.0
"""A patch whose mean lies below shows nothing but air and is drawn again."""
ATTEMPTS = 10
CANDIDATES = 3
"""Places that are compared where a patch is to show a strong artifact."""

Batch = tuple[Tensor, Tensor, Tensor, Tensor]
"""Y, X_li, X, I: B x 1 x size x size, network units; I is 1 where there is no metal."""


@dataclass
class Patches:
    """An endless list of patches drawn from sets of pairs."""

    sets: Sequence[PairSet]
    size: int
    seed: int
    focus: float = 0.0
    counts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = [len(pairs.infos()) for pairs in self.sets]
        if not sum(self.counts):
            raise InputRefused("the training data hold no pair")
        small = [pairs for pairs in self.sets if pairs.size < self.size]
        if small:
            raise InputRefused(
                f"{small[0].folder}: slices of {small[0].size} pixels are smaller than a patch ({self.size})"
            )

    def __getitem__(self, n: int) -> Tensor:
        """Return patch n as 4 x size x size: Y, X_li, X, I. Every set is drawn from equally often."""
        rng = np.random.default_rng([self.seed, n])
        which = int(rng.integers(len(self.sets)))
        pairs, index = self.sets[which], int(rng.integers(self.counts[which]))
        focused = rng.random() < self.focus
        best = self._draw(pairs, index, rng)
        for _ in range(CANDIDATES - 1 if focused else 0):
            best = max(best, self._draw(pairs, index, rng), key=_strength)
        flips = [axis for axis in (-2, -1) if rng.random() < 0.5]
        stack = torch.from_numpy(
            np.stack([*(network_from_hu(image) for image in (best.corrupted, best.li, best.clean)), ~best.metal])
        ).float()
        return stack.flip(flips) if flips else stack

    def _draw(self, pairs: PairSet, index: int, rng: np.random.Generator) -> Pair:
        for _ in range(ATTEMPTS):
            y, x = rng.integers(0, pairs.size - self.size + 1, 2)
            patch = pairs.read(index, slice(y, y + self.size), slice(x, x + self.size))
            if patch.clean.mean() > AIR_HU:
                break
        return patch


def _strength(patch: Pair) -> float:
    """Return the mean artifact of a patch, in network units."""
    difference = network_from_hu(patch.corrupted) - network_from_hu(patch.clean)
    return float(np.abs(difference[~patch.metal]).mean()) if not patch.metal.all() else 0.0


class Batches:
    """Batches of patches, read ahead by threads; each process takes its share of every batch."""

    def __init__(
        self, patches: Patches, batch: int, first: int = 0, rank: int = 0, ranks: int = 1, loaders: int = 1
    ) -> None:
        if batch % ranks:
            raise InputRefused(f"a batch of {batch} cannot be shared by {ranks} processes evenly")
        self.patches, self.batch, self.next = patches, batch, first
        self.mine = range(rank * batch // ranks, (rank + 1) * batch // ranks)
        self.pool = ThreadPoolExecutor(loaders, "patches")
        self.ahead: deque[Future[Tensor]] = deque()
        self.depth = 2 * loaders + 2
        self.waited = 0.0
        """Seconds that were spent waiting for patches."""

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        while len(self.ahead) < self.depth:
            self.ahead.append(self.pool.submit(self._make, self.next))
            self.next += 1
        start = time.perf_counter()
        stack = self.ahead.popleft().result()
        self.waited += time.perf_counter() - start
        Y, X_li, X, I = stack.unsqueeze(2).unbind(1)
        return Y, X_li, X, I

    def _make(self, step: int) -> Tensor:
        return torch.stack([self.patches[step * self.batch + n] for n in self.mine])

    def close(self) -> None:
        """Stop reading ahead."""
        self.pool.shutdown(wait=True, cancel_futures=True)
