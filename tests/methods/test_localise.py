from collections.abc import Sequence

import numpy as np
import pytest
import torch

from acdnet.config import LocaliserConfig
from acdnet.methods import localise
from acdnet.methods.learned.localiser import Localiser
from acdnet.methods.localise import MetalObject, Part, find_objects, find_parts, linked, masks_of
from acdnet.units import Image

MM = (1.0, 1.0)


def part(number: int, row: int, probability: float, size: int = 4, column: int = 10) -> Part:
    """Return a square part."""
    pixels = np.full((size, size), probability, np.float32)
    return Part(number, slice(row, row + size), slice(column, column + size), pixels, probability, 4000.0)


class Bright(Localiser):
    """Takes pixels for metal that are brighter than a value."""

    def __init__(self, hu: float) -> None:
        super().__init__(LocaliserConfig(width=2))
        self.level = np.log2(hu / 500) / 3

    def forward(self, channels: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = 20 * (channels[:, 2:3] - self.level).sign()
        return logits


def slices(*values: float) -> list[Image]:
    """Return slices with a square of some brightness."""
    made = []
    for value in values:
        hu = np.zeros((40, 50), np.float32)
        hu[10:16, 20:25] = value
        made.append(hu)
    return made


def found(values: Sequence[float], hu: float = 3000.0) -> list[MetalObject]:
    return find_objects(slices(*values), MM, Bright(hu))


def test_an_object_goes_on_through_neighbouring_slices() -> None:
    (one, two) = found([5000, 5000, 100, 5000])
    assert [part.number for part in one.parts] == [0, 1]
    assert [part.number for part in two.parts] == [3]
    masks = masks_of([one, two], [(40, 50)] * 4)
    assert [int(mask.sum()) for mask in masks] == [30, 30, 0, 30]
    assert masks[0][10:16, 20:25].all()


def test_slices_without_a_bright_pixel_are_not_shown_to_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(localise, "clues", lambda *_: pytest.fail("was shown"))
    assert found([1999.0]) == []


def test_a_neighbour_of_another_size_counts_as_missing() -> None:
    small = np.zeros((8, 8), np.float32)
    assert len(find_parts(Bright(3000.0), 1, [small, slices(5000)[0], None], MM)) == 1


def test_neighbours_make_a_weak_part_sure_and_a_lone_one_stays_doubtful() -> None:
    (strong,) = linked([[part(0, 5, 0.95)], [part(1, 6, 0.4)]])
    assert strong.is_metal
    assert masks_of([strong], [(40, 40)] * 2)[1].sum() == 16
    (alone,) = linked([[part(0, 5, 0.4)]])
    assert alone.is_doubtful
    assert not masks_of([alone], [(40, 40)])[0].any()
    assert linked([[part(0, 5, 0.1)]]) == []


def test_two_objects_that_join_are_one() -> None:
    below = [part(0, 5, 0.9), part(0, 15, 0.9)]
    joined = linked([below, [part(1, 7, 0.9, size=10)], [part(2, 30, 0.9)]])
    assert [len(one.parts) for one in joined] == [3, 1]
