"""The task of the localiser: slices with metal, clean slices that look as if they had some, and where the metal is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation
from torch import Tensor, nn
from torch.nn import functional as F

from acdnet.data.lookalikes import imitate_neighbours
from acdnet.data.pairs import PairSet, some_of
from acdnet.errors import InputRefused
from acdnet.evaluate.localisation import Localisation
from acdnet.methods.learned.clues import clues
from acdnet.methods.learned.localiser import Localiser
from acdnet.methods.localise import find_objects, masks_of
from acdnet.train.config import TrainConfig
from acdnet.train.tasks.task import Batch, Task, Terms
from acdnet.units import Image, Mask
from acdnet.weights.networks import Network

CLEAN = 0.45
"""Share of the examples without metal."""
ALONE = 0.25
"""Share of the examples that are shown without their neighbours."""
AS_IT_IS = 0.25
"""Share of the examples that imitate nothing."""
CANDIDATE_HU, CANDIDATE_PX = 1200.0, 3
"""Pixels near a brighter one, or near metal, count in the loss in full."""
ELSEWHERE = 0.02
"""Weight of the others."""
HARDEST = 48
"""Pixels of an example that count again, since few wrong pixels make a wrong object."""
AVERAGE_MM = 0.8
"""Pixel size of pairs that state none."""
ATTEMPTS = 4
PATCHES_PER_SLICE, KEPT = 2, 8
"""Consecutive examples from one slice, and slices that are kept for them."""


@dataclass
class LocaliserPatches:
    """An endless list of examples: channels, metal, and weights, 11 x size x size."""

    sets: Sequence[PairSet]
    size: int
    seed: int
    with_metal: list[tuple[int, int]] = field(init=False)
    all: list[tuple[int, int]] = field(init=False)
    kept: dict[int, tuple[Tensor, Mask, Mask]] = field(init=False, default_factory=dict)
    lock: Lock = field(init=False, default_factory=Lock)

    def __post_init__(self) -> None:
        infos = [(s, n, info) for s, pairs in enumerate(self.sets) for n, info in enumerate(pairs.infos())]
        self.all = [(s, n) for s, n, _ in infos]
        self.with_metal = [(s, n) for s, n, info in infos if info.metal_pixels != 0]
        if not self.with_metal:
            raise InputRefused("the training data contain no metal")

    def __getitem__(self, number: int) -> Tensor:
        stack, bright, metal = self._slice(number // PATCHES_PER_SLICE)
        rng = np.random.default_rng([self.seed, number, 1])
        rows, columns = self._window(bright, metal, rng)
        patch = stack[:, rows, columns]
        flips = [axis for axis in (-2, -1) if rng.random() < 0.5]
        patch = patch.transpose(-2, -1) if rng.random() < 0.5 else patch
        return patch.flip(flips).contiguous()

    def _slice(self, number: int) -> tuple[Tensor, Mask, Mask]:
        """Return slice `number` as channels, metal and weights, its bright pixels, and its metal."""
        with self.lock:
            if number in self.kept:
                return self.kept[number]
        made = self._make(number)
        with self.lock:
            self.kept[number] = made
            while len(self.kept) > KEPT:
                self.kept.pop(next(iter(self.kept)))
        return made

    def _make(self, number: int) -> tuple[Tensor, Mask, Mask]:
        rng = np.random.default_rng([self.seed, number])
        clean = rng.random() < CLEAN
        for _ in range(ATTEMPTS):
            below, here, above, metal, pixel_mm = self._draw(clean, rng)
            bright: Mask = here > CANDIDATE_HU
            if bright.any():
                break
        alone = rng.random() < ALONE
        channels = clues([None, here, None] if alone else [below, here, above], pixel_mm)
        near = binary_dilation(bright | metal, iterations=CANDIDATE_PX)
        weight = np.where(near, 1.0, ELSEWHERE).astype(np.float32)
        stack = torch.cat((channels, torch.from_numpy(np.stack([metal.astype(np.float32), weight]))))
        return stack, bright, metal

    def _draw(self, clean: bool, rng: np.random.Generator) -> tuple[Image | None, Image, Image | None, Mask, float]:
        """Draw a slice between its neighbours, its metal, and its pixel size."""
        s, n = (self.all if clean else self.with_metal)[rng.integers(len(self.all if clean else self.with_metal))]
        pairs = self.sets[s]
        below, above = pairs.neighbours(n)
        there = [m for m in (below, n, above) if m is not None]
        here = there.index(n)
        read = [pairs.read(m) for m in there]
        pixel_mm = pairs.pixel_mm(n) or AVERAGE_MM
        slices = [pair.clean if clean else pair.corrupted for pair in read]
        masks = [np.zeros_like(pair.metal) if clean else pair.metal for pair in read]
        if rng.random() > AS_IT_IS:
            slices = imitate_neighbours(slices, here, pixel_mm, rng, masks)
        found = dict(zip(there, slices, strict=True))
        others = [None if m is None else found[m] for m in (below, above)]
        return others[0], slices[here], others[1], masks[here], pixel_mm

    def _window(self, bright: Mask, metal: Mask, rng: np.random.Generator) -> tuple[slice, slice]:
        """Choose a window around metal or a bright pixel."""
        shown = metal if metal.any() and rng.random() < 0.7 else bright
        pixels: NDArray[np.intp] = np.flatnonzero(shown if shown.any() else np.ones_like(shown))
        place = np.unravel_index(rng.choice(pixels), shown.shape)
        windows = []
        for middle, length in zip(place, shown.shape, strict=True):
            start = int(middle) - self.size // 2 + int(rng.integers(-self.size // 4, self.size // 4 + 1))
            start = min(max(0, start), max(0, length - self.size))
            windows.append(slice(start, start + self.size))
        return windows[0], windows[1]


class LocaliserTask(Task):
    """Batches are the channels, B x 9 x size x size, the metal and the weights, B x 1 x size x size."""

    calibration = 40

    def examples(
        self,
        sets: Sequence[PairSet],
        config: TrainConfig,
        seed: int,
        hard_patch_share: float,  # noqa: ARG002
    ) -> LocaliserPatches:
        return LocaliserPatches(sets, config.training.patch, seed)

    def collate(self, examples: list[Tensor]) -> Batch:
        channels, metal, weight = torch.stack(examples).split((examples[0].shape[0] - 2, 1, 1), 1)
        return channels.contiguous(memory_format=torch.channels_last), metal, weight

    def loss(self, network: nn.Module, batch: Batch, config: TrainConfig) -> Terms:
        channels, metal, weight = batch
        with torch.autocast(channels.device.type, torch.bfloat16, enabled=config.training.bfloat16):
            logits = network(channels)
        logits = logits.float()
        each = weight * F.binary_cross_entropy_with_logits(logits, metal, reduction="none")
        mean = (each.flatten(1).sum(1) / weight.flatten(1).sum(1)).mean()
        hardest = each.flatten(1).topk(min(HARDEST, each[0].numel())).values.mean()
        p = torch.sigmoid(logits)
        overlap = 2 * (p * metal).flatten(1).sum(1) + 1
        dice = (1 - overlap / ((p * weight + metal).flatten(1).sum(1) + 1))[metal.flatten(1).any(1)]
        return Terms(
            ("pixels", "hardest_pixels", "dice"),
            (mean, 0.1 * hardest, 0.3 * dice.mean() if len(dice) else logits.sum() * 0),
        )

    def validate(self, network: Network, sets: Sequence[PairSet], count: int) -> dict[str, float]:
        """Find the metal of some slices, and what is taken for metal in imitations of their clean slices."""
        assert isinstance(network, Localiser)
        scores = Localisation()
        for pairs in sets:
            for n in some_of(len(pairs.infos()), max(1, count // len(sets))):
                mm = pairs.pixel_mm(n) or AVERAGE_MM
                there = [m for m in (pairs.neighbours(n)[0], n, pairs.neighbours(n)[1]) if m is not None]
                read, here = [pairs.read(m) for m in there], there.index(n)
                imitated = imitate_neighbours([pair.clean for pair in read], here, mm, np.random.default_rng(n))
                metal = read[here].metal
                for slices, true in (([pair.corrupted for pair in read], metal), (imitated, np.zeros_like(metal))):
                    objects = find_objects(slices, (mm, mm), network)
                    scores.add(masks_of(objects, [hu.shape for hu in slices])[here], true)
        return scores.scores()
