import numpy as np
import pytest

from acdnet.errors import OutOfScope
from acdnet.io.slices import Slice
from acdnet.reduction.guard import check_scope, measure_change, treatable


def plain(shape: tuple[int, int] = (96, 96), spacing_mm: tuple[float, float] = (2.0, 2.0)) -> Slice:
    return Slice(np.full(shape, 40.0, np.float32), spacing_mm, np.zeros(shape, bool), 3071.0)


def test_change_far_from_metal_is_measured() -> None:
    slice_ = plain()
    metal = np.zeros(slice_.hu.shape, bool)
    metal[5, 5] = True
    change = np.zeros_like(slice_.hu)
    change[60:, 60:] = 100.0
    found = measure_change(slice_, metal, change)
    assert found.max_change_hu == 100
    assert found.far_change_hu is not None
    assert found.far_change_hu > found.mean_change_hu
    assert found.soft_shift_hu == pytest.approx(change.mean(), rel=0.1)


@pytest.mark.parametrize(
    ("shape", "spacing_mm", "match"),
    [
        ((96, 96), (0.1, 0.1), "slice 3: the pixel size is 0.1 x 0.1 mm"),
        ((96, 96), (4.0, 4.0), "pixel size"),
        ((96, 96), (2.9, 1.4), "ratio"),
        ((63, 96), (2.0, 2.0), "63 x 96"),
        ((96, 96), (0.9, 0.9), "86 mm"),
    ],
)
def test_slices_out_of_scope_are_refused(shape: tuple[int, int], spacing_mm: tuple[float, float], match: str) -> None:
    with pytest.raises(OutOfScope, match=match):
        check_scope(plain(shape, spacing_mm), 2)


def test_the_smallest_slice_in_scope() -> None:
    check_scope(plain((64, 64), (1.6, 1.6)), 0)


def with_metal(*places: tuple[slice, slice]) -> np.ndarray:
    metal = np.zeros((96, 96), bool)
    for place in places:
        metal[place] = True
    return metal


INSIDE, RING, LARGE = np.s_[40:44, 40:44], np.s_[10:12, 94:96], np.s_[60:80, 90:96]


def test_all_metal_inside_the_field_is_treated() -> None:
    metal = with_metal(INSIDE)
    treated, reason = treatable(plain(), metal)
    assert (treated is metal, reason) == (True, "")


def test_small_metal_at_the_edge_is_left_and_said() -> None:
    treated, reason = treatable(plain(), with_metal(INSIDE, RING))
    assert np.array_equal(treated, with_metal(INSIDE))
    assert reason == "metal at the edge of the field of view was left as it is"


@pytest.mark.parametrize("places", [(RING,), (INSIDE, LARGE)])
def test_a_slice_whose_metal_is_mostly_at_the_edge_is_not_reduced(places: tuple[tuple[slice, slice], ...]) -> None:
    treated, reason = treatable(plain(), with_metal(*places))
    assert not treated.any()
    assert reason == "metal reaches the edge of the field of view"


def test_metal_that_touches_padding_is_left() -> None:
    fixed = with_metal(np.s_[20:30, 20:30])
    slice_ = Slice(np.full((96, 96), 40.0, np.float32), (2.0, 2.0), fixed, 3071.0)
    treated, reason = treatable(slice_, with_metal(INSIDE, np.s_[30:32, 24:26]))
    assert np.array_equal(treated, with_metal(INSIDE))
    assert reason
