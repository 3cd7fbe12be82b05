"""How metal is found: by the localiser, by growing from bright seeds, or by the paper's threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from acdnet.errors import ConfigError, check_limits
from acdnet.methods.grown_metal import grow_metal
from acdnet.methods.localise import find_objects, localiser_weights, masks_of
from acdnet.units import Image, Mask

KINDS = LOCALISER, GROWN, THRESHOLD = "localiser", "grown", "threshold"


@dataclass(frozen=True)
class Segmentation:
    """How metal is found.

    `localiser` is a network (`acdnet.methods.localise`). `grown` grows from pixels above the threshold
    (`acdnet.methods.grown_metal`). `threshold` takes all pixels above the threshold, as the paper does.
    """

    kind: str = LOCALISER
    threshold_hu: float = 2500.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigError(f"segmentation is {self.kind!r}; choose one of {', '.join(KINDS)}")
        check_limits(self, {"threshold_hu": (500.0, 30_000.0)})

    @property
    def text(self) -> str:
        """Describe it in a few words: with the weights of the localiser, or with the threshold."""
        if self.kind == LOCALISER:
            return f"{self.kind}, weights {localiser_weights()[:16]}"
        return f"{self.kind}, threshold {self.threshold_hu:g} HU"


def choose_segmentation(kind: str, threshold_hu: float | None) -> Segmentation:
    """Return how to find metal: a threshold replaces the localiser unless a kind is named."""
    if threshold_hu is None:
        return Segmentation(kind or LOCALISER)
    if kind == LOCALISER:
        raise ConfigError("the localiser takes no threshold; choose grown or threshold")
    return Segmentation(kind or GROWN, threshold_hu)


def find_metal(
    slices: Sequence[Image] | Image, spacing_mm: tuple[float, float], how: Segmentation | None = None
) -> Mask:
    """Find the metal of adjacent slices, n x H x W, or of one slice, H x W."""
    how = how or Segmentation()
    if isinstance(slices, np.ndarray):
        if slices.ndim == 2:
            return np.asarray(find_metal([slices], spacing_mm, how)[0])
        slices = list(slices)
    if how.kind == LOCALISER:
        return np.stack(masks_of(find_objects(slices, spacing_mm), [hu.shape for hu in slices]))
    if how.kind == THRESHOLD:
        return np.stack([~(hu <= how.threshold_hu) for hu in slices])
    return grow_metal(slices, spacing_mm, how.threshold_hu)


def overlap(a: Mask, b: Mask) -> float:
    """Return Dice's coefficient of two masks; 1 where both are empty."""
    total = int(a.sum()) + int(b.sum())
    return 2 * int((a & b).sum()) / total if total else 1.0
