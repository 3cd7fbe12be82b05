"""Patches for training: which comes n-th depends on the seed and n alone, so that a run can be taken up anywhere."""

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
from acdnet.train.augment import DENSE_HU, fainter, with_lesions, with_other_bone
from acdnet.units import network_from_hu

AIR_HU = -900.0
"""A patch whose mean lies below shows nothing but air and is drawn again."""
ATTEMPTS = 10
CANDIDATES = 3
"""Places, in as many pairs, that are compared where a patch is to show a strong artifact."""
LESION_HU = 2.0
"""Where the clean image was changed by more there is a lesion."""


class Window(NamedTuple):
    """A part of a pair, and where it lies."""

    pair: Pair
    rows: slice
    columns: slice


@dataclass
class Patches:
    """An endless list of patches drawn from sets of pairs."""

    sets: Sequence[PairSet]
    size: int
    seed: int
    focus: float = 0.0
    together: int = 1
    """So many consecutive patches are taken from one pair; the first of them is the one that may be sought."""
    lesions: float = 0.0
    """Share of the patches into which small lesions are put."""
    lesion_weight: float = 1.0
    """Weight of their pixels in the loss; if a weight is not one, patches have one more image, W."""
    faint: float = 0.0
    """Share of the patches whose artifact is made weaker."""
    bones: float = 0.0
    """Share of the patches whose bone is made denser or less dense."""
    bone_weight: float = 1.0
    """Weight of bone in the loss."""
    first: str = "li"
    """What the network begins with."""
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
        """Return patch n; every set is drawn from equally often."""
        rng = np.random.default_rng([self.seed, n])
        first = n - n % self.together
        which, index, window = self._first(np.random.default_rng([self.seed, first]) if n > first else rng)
        if n > first:
            window = self._place(which, index, rng)
        flips = [axis for axis in (-2, -1) if rng.random() < 0.5]
        if self.faint and rng.random() < self.faint:
            window = window._replace(pair=fainter(window.pair, rng))
        if self.bones and rng.random() < self.bones:
            window = window._replace(pair=with_other_bone(window.pair, rng))
        before = window.pair.clean
        if self.lesions and rng.random() < self.lesions:
            window = window._replace(pair=with_lesions(window.pair, rng))
        stack = self.example(which, index, window)
        if self.lesion_weight != 1.0 or self.bone_weight != 1.0:
            lesions, bone = np.abs(window.pair.clean - before) > LESION_HU, before > DENSE_HU
            W = np.maximum(np.where(lesions, self.lesion_weight, 1.0), np.where(bone, self.bone_weight, 1.0))
            stack = torch.cat((stack, torch.from_numpy(W).float()[None]))
        return stack.flip(flips) if flips else stack

    def _first(self, rng: np.random.Generator) -> tuple[int, int, Window]:
        """Choose a set, a pair and a place: any, or the one with the strongest artifact of several pairs."""
        which = int(rng.integers(len(self.sets)))
        focused = rng.random() < self.focus
        drawn = [self._draw(which, rng) for _ in range(CANDIDATES if focused else 1)]
        index, best = max(drawn, key=lambda one: _strength(one[1]))
        return which, index, best

    def example(self, which: int, index: int, window: Window) -> Tensor:  # noqa: ARG002 others look the pair up
        """Make an example of a window of pair `index` of set `which`: Y, X_li, X, I, 4 x size x size."""
        pair = window.pair
        images = (network_from_hu(image) for image in (pair.corrupted, pair.first(self.first), pair.clean))
        return torch.from_numpy(np.stack([*images, ~pair.metal])).float()

    def _draw(self, which: int, rng: np.random.Generator) -> tuple[int, Window]:
        """Draw a pair and a place in it."""
        index = int(rng.integers(self.counts[which]))
        return index, self._place(which, index, rng)

    def _place(self, which: int, index: int, rng: np.random.Generator) -> Window:
        """Draw a place in a pair that shows more than air."""
        pairs = self.sets[which]
        for _ in range(ATTEMPTS):
            y, x = rng.integers(0, pairs.size - self.size + 1, 2)
            rows, columns = slice(y, y + self.size), slice(x, x + self.size)
            patch = pairs.read(index, rows, columns)
            if patch.clean.mean() > AIR_HU:
                break
        return Window(patch, rows, columns)


def _strength(window: Window) -> float:
    """Return the mean artifact of a patch, in network units."""
    patch = window.pair
    difference = network_from_hu(patch.corrupted) - network_from_hu(patch.clean)
    return float(np.abs(difference[~patch.metal]).mean()) if not patch.metal.all() else 0.0
