import numpy as np
import pytest

from acdnet.errors import OutOfScope
from acdnet.io.slices import Slice
from acdnet.reduction.guard import check_scope, measure_change


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
