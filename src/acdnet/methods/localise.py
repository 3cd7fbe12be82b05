"""Find metal by the localiser: objects through neighbouring slices, each with the probability that it is metal.

1. The network (`acdnet.methods.learned.localiser`) gives every pixel of a slice a probability.
2. Connected pixels form the part of an object in a slice; parts that overlap in neighbouring slices are one object.
3. An object is metal if it probably is (`SURE`). Objects between `DOUBTFUL` and `SURE` are listed for a person to
   decide; until then they count as tissue.

Slices without a bright pixel are not shown to the network.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import cast

import numpy as np
import torch
from scipy import ndimage

from acdnet.methods.learned.clues import BRIGHT_HU, clues, finite
from acdnet.methods.learned.localiser import Localiser
from acdnet.units import Image, Mask
from acdnet.weights.card import read_card
from acdnet.weights.load import read_model
from acdnet.weights.shipped import find_model

SURE, DOUBTFUL = 0.5, 0.2
"""Probabilities from which an object is metal, and from which it may be."""
OUTLINE, FAINT = 0.5, 0.35
"""A pixel of metal has this probability; where a part has none, the lower one, since its neighbours make it sure."""
CLEAREST = 12
"""A part is as probable as the mean of this many of its clearest pixels."""
MODEL = "localiser"
EIGHT = np.ones((3, 3), bool)


@dataclass(frozen=True)
class Part:
    """What may be metal in one slice: a window, the probabilities of its pixels, 0 outside the part."""

    number: int
    """Number of the slice, from 0."""
    rows: slice
    columns: slice
    pixels: Image
    probability: float
    peak_hu: float

    @property
    def window(self) -> tuple[slice, slice]:
        return self.rows, self.columns

    @property
    def outline(self) -> Mask:
        """The pixels of the part if it is metal."""
        level = OUTLINE if self.probability >= OUTLINE else FAINT
        return self.pixels >= min(level, float(self.pixels.max()))


@dataclass
class MetalObject:
    """What may be a piece of metal, through all its slices."""

    parts: list[Part] = field(default_factory=list)

    @property
    def probability(self) -> float:
        """The mean of its parts; large parts count more."""
        weights = [np.sqrt(np.count_nonzero(part.pixels)) for part in self.parts]
        return float(np.average([part.probability for part in self.parts], weights=weights))

    @property
    def is_metal(self) -> bool:
        return self.probability >= SURE

    @property
    def is_doubtful(self) -> bool:
        return DOUBTFUL <= self.probability < SURE


@lru_cache(maxsize=1)
def localiser() -> Localiser:
    """Return the shipped network."""
    return cast(Localiser, read_model(find_model(MODEL))[0])


def localiser_weights() -> str:
    """Return the hash of the shipped network."""
    return read_card(find_model(MODEL)).sha256


def find_parts(
    network: Localiser, number: int, slices: Sequence[Image | None], spacing_mm: tuple[float, float]
) -> list[Part]:
    """Find what may be metal in the middle of three slices; the outer two may be missing."""
    here = slices[1]
    assert here is not None
    if not (finite(here) > BRIGHT_HU).any():
        return []
    seen = [None if hu is None or hu.shape != here.shape else finite(hu) for hu in slices]
    channels = clues(seen, float(np.sqrt(spacing_mm[0] * spacing_mm[1])))[None]
    with torch.inference_mode():
        logits = network(channels.contiguous(memory_format=torch.channels_last))
    probability: Image = torch.sigmoid(logits)[0, 0].numpy()
    pieces, count = ndimage.label(probability > DOUBTFUL, EIGHT)
    found = []
    for piece, (rows, columns) in enumerate(ndimage.find_objects(pieces, count), 1):
        inside = pieces[rows, columns] == piece
        pixels = np.where(inside, probability[rows, columns], np.float32(0))
        clearest = np.sort(pixels[inside])[-CLEAREST:]
        peak = float(finite(here)[rows, columns][inside].max())
        if peak > BRIGHT_HU:
            found.append(Part(number, rows, columns, pixels, float(clearest.mean()), peak))
    return found


def linked(found: Iterable[Sequence[Part]]) -> list[MetalObject]:
    """Link the parts of neighbouring slices that overlap to objects, in the order of their first parts."""
    objects: list[MetalObject] = []
    before: list[tuple[Part, MetalObject]] = []
    for parts in found:
        here = []
        for part in parts:
            touched = list({id(owner): owner for other, owner in before if _overlap(part, other)}.values())
            owner = touched[0] if touched else MetalObject()
            if not touched:
                objects.append(owner)
            owner.parts.append(part)
            here.append((part, owner))
            for other in touched[1:]:
                owner.parts += other.parts
                objects = [one for one in objects if one is not other]
                before = [(p, owner if o is other else o) for p, o in before]
                here = [(p, owner if o is other else o) for p, o in here]
        before = here
    return [one for one in objects if one.probability >= DOUBTFUL]


def _overlap(a: Part, b: Part) -> bool:
    rows = slice(max(a.rows.start, b.rows.start), min(a.rows.stop, b.rows.stop))
    columns = slice(max(a.columns.start, b.columns.start), min(a.columns.stop, b.columns.stop))
    if rows.start >= rows.stop or columns.start >= columns.stop:
        return False
    both = [
        one.pixels[
            rows.start - one.rows.start : rows.stop - one.rows.start,
            columns.start - one.columns.start : columns.stop - one.columns.start,
        ]
        for one in (a, b)
    ]
    return bool(((both[0] > 0) & (both[1] > 0)).any())


def find_objects(
    slices: Sequence[Image], spacing_mm: tuple[float, float], network: Localiser | None = None
) -> list[MetalObject]:
    """Find all objects of adjacent slices that are metal or may be."""
    network = network or localiser()
    around = [None, *slices, None]
    return linked(find_parts(network, n, around[n : n + 3], spacing_mm) for n in range(len(slices)))


def masks_of(objects: Sequence[MetalObject], shapes: Sequence[tuple[int, ...]]) -> list[Mask]:
    """Return the mask of every slice: the metal, without what is doubtful."""
    masks = [np.zeros(shape, bool) for shape in shapes]
    for one in objects:
        if one.is_metal:
            for part in one.parts:
                masks[part.number][part.window] |= part.outline
    return masks
