"""Patches for training: patch n depends only on the seed and n, so that a run can be resumed at any step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from acdnet.data.pairs import PairSet
from acdnet.data.store import Pair
from acdnet.errors import InputRefused
from acdnet.train.augment import with_lesions, with_scaled_artifact
from acdnet.units import network_from_hu

AIR_HU = -900.0
"""A patch with a mean below this shows only air and is drawn again."""
ATTEMPTS = 10
CANDIDATES = 3
"""Number of random patches, each of another pair, from which a hard patch is chosen."""
LESION_HU = 2.0
"""Pixels of the clean image changed by more than this belong to a lesion."""


class Window(NamedTuple):
    """A patch of a pair, and its position."""

    pair: Pair
    rows: slice
    columns: slice


@dataclass
class Patches:
    """An endless list of patches drawn from sets of pairs."""

    sets: Sequence[PairSet]
    size: int
    seed: int
    hard_patch_share: float = 0.0
    patches_per_pair: int = 1
    """Consecutive patches taken from one pair; only the first of them can be a hard patch."""
    lesions: float = 0.0
    """Share of the patches to which small lesions are added."""
    lesion_weight: float = 1.0
    """Weight of the pixels of lesions in the loss; if it is not 1, patches have one more image, W."""
    artifact_scaling: float = 0.0
    """Share of the patches whose artifact is scaled down."""
    first: str = "li"
    """The corrected image from which the network starts."""
    counts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = [len(pairs.infos()) for pairs in self.sets]
        if not sum(self.counts):
            raise InputRefused("the training data contain no pairs")
        small = [pairs for pairs in self.sets if pairs.size < self.size]
        if small:
            raise InputRefused(
                f"{small[0].folder}: slices of {small[0].size} pixels are smaller than a patch ({self.size})"
            )

    def __getitem__(self, n: int) -> Tensor:
        """Return patch n; all sets are equally likely."""
        rng = np.random.default_rng([self.seed, n])
        first = n - n % self.patches_per_pair
        which, index, window = self._first(np.random.default_rng([self.seed, first]) if n > first else rng)
        if n > first:
            window = self._place(which, index, rng)
        flips = [axis for axis in (-2, -1) if rng.random() < 0.5]
        if self.artifact_scaling and rng.random() < self.artifact_scaling:
            window = window._replace(pair=with_scaled_artifact(window.pair, rng))
        before = window.pair.clean
        if self.lesions and rng.random() < self.lesions:
            window = window._replace(pair=with_lesions(window.pair, rng))
        stack = self.example(which, index, window)
        if self.lesion_weight != 1.0:
            W = np.where(np.abs(window.pair.clean - before) > LESION_HU, self.lesion_weight, 1.0)
            stack = torch.cat((stack, torch.from_numpy(W).float()[None]))
        return stack.flip(flips) if flips else stack

    def _first(self, rng: np.random.Generator) -> tuple[int, int, Window]:
        """Draw a set, a pair and a position; for a hard patch, take the strongest artifact of several pairs."""
        which = int(rng.integers(len(self.sets)))
        hard = rng.random() < self.hard_patch_share
        drawn = [self._draw(which, rng) for _ in range(CANDIDATES if hard else 1)]
        index, best = max(drawn, key=lambda one: _strength(one[1]))
        return which, index, best

    def example(self, which: int, index: int, window: Window) -> Tensor:  # noqa: ARG002 used by subclasses
        """Return an example from pair `index` of set `which`: Y, X_li, X, I; 4 x size x size, network units."""
        pair = window.pair
        images = (network_from_hu(image) for image in (pair.corrupted, pair.first(self.first), pair.clean))
        return torch.from_numpy(np.stack([*images, ~pair.metal])).float()

    def _draw(self, which: int, rng: np.random.Generator) -> tuple[int, Window]:
        """Draw a pair and a position in it."""
        index = int(rng.integers(self.counts[which]))
        return index, self._place(which, index, rng)

    def _place(self, which: int, index: int, rng: np.random.Generator) -> Window:
        """Draw a position in a pair where a patch shows more than air."""
        pairs = self.sets[which]
        for _ in range(ATTEMPTS):
            y, x = rng.integers(0, pairs.size - self.size + 1, 2)
            rows, columns = slice(y, y + self.size), slice(x, x + self.size)
            patch = pairs.read(index, rows, columns)
            if patch.clean.mean() > AIR_HU:
                break
        return Window(patch, rows, columns)


def _strength(window: Window) -> float:
    """Return the mean absolute artifact of a patch in network units."""
    patch = window.pair
    difference = network_from_hu(patch.corrupted) - network_from_hu(patch.clean)
    return float(np.abs(difference[~patch.metal]).mean()) if not patch.metal.all() else 0.0
