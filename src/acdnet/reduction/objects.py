"""The objects that may be metal: what was decided about each, and where it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import ConfigError
from acdnet.io.slices import Mask
from acdnet.methods.localise import MetalObject
from acdnet.reduction.object_report import DOUBTFUL, DROPPED, KEPT, METAL, ObjectReport


@dataclass(frozen=True)
class Objects:
    """All objects of a scan with what was decided about them."""

    found: Sequence[MetalObject] = ()
    decisions: Sequence[str] = ()

    @classmethod
    def decide(cls, found: Sequence[MetalObject], keep: Sequence[int], drop: Sequence[int]) -> Objects:
        """Apply the decisions of the user, by the numbers of objects."""
        if both := sorted({*keep} & {*drop}):
            raise ConfigError(f"object {both[0]} is both kept and dropped")
        if unknown := sorted({*keep, *drop} - {*range(1, len(found) + 1)}):
            raise ConfigError(f"there is no object {unknown[0]}; this scan has {len(found)}")
        decisions = [METAL if one.is_metal else DOUBTFUL for one in found]
        for numbers, decision in ((keep, KEPT), (drop, DROPPED)):
            for number in numbers:
                decisions[number - 1] = decision
        return cls(found, decisions)

    def masks(self, shapes: Sequence[tuple[int, ...]]) -> list[Mask]:
        """Return the metal of every slice."""
        masks = [np.zeros(shape, bool) for shape in shapes]
        for one, decision in zip(self.found, self.decisions, strict=True):
            if decision in (METAL, KEPT):
                for part in one.parts:
                    masks[part.number][part.window] |= part.outline
        return masks

    def labels(self, number: int, shape: tuple[int, ...]) -> NDArray[np.uint16] | None:
        """Return the numbers of the objects in the pixels of a slice; None if there is none."""
        labels = np.zeros(shape, np.uint16)
        for n, one in enumerate(self.found, 1):
            for part in one.parts:
                if part.number == number:
                    labels[part.window][part.outline] = n
        return labels if labels.any() else None

    def reports(self) -> list[ObjectReport]:
        """Return the entries of the report."""
        return [
            _report(n, one, decision)
            for n, (one, decision) in enumerate(zip(self.found, self.decisions, strict=True), 1)
        ]


def _report(number: int, one: MetalObject, decision: str) -> ObjectReport:
    numbers = [part.number + 1 for part in one.parts]
    largest = max(one.parts, key=lambda part: int(part.outline.sum()))
    rows, columns = np.nonzero(largest.outline)
    return ObjectReport(
        number,
        decision,
        one.probability,
        min(numbers),
        max(numbers),
        largest.number + 1,
        largest.rows.start + round(float(rows.mean())),
        largest.columns.start + round(float(columns.mean())),
        sum(int(part.outline.sum()) for part in one.parts),
        max(part.peak_hu for part in one.parts),
    )
