from __future__ import annotations

import numpy as np
import pytest

import acdnet
from acdnet.errors import ConfigError, InputRefused
from acdnet.io.slices import Slice
from acdnet.reduction.guard import look_at
from acdnet.reduction.parallel import in_parallel
from acdnet.reduction.report import cautions
from acdnet.reduction.scan_metal import neighbours
from acdnet.reduction.slice_report import SliceReport
from tests.reduction.make import body, volume


@pytest.mark.parametrize("method", ["acdnet", "li", "bhc", "nmar", "nmar-raw"])
def test_every_method_changes_the_streak_and_not_the_metal(method: str) -> None:
    before = volume()
    done = acdnet.reduce(before, (3.0, 2.0, 2.0), method)
    assert done.hu.shape == before.shape
    assert np.array_equal(done.hu[0], before[0])
    assert [one.status for one in done.slices] == ["unchanged", "reduced", "reduced"]
    assert np.array_equal(done.hu[done.mask], before[done.mask])
    assert not np.array_equal(done.hu[1], before[1])
    assert np.isfinite(done.hu).all()
    assert (done.expected_error_hu is not None) == (method == "acdnet")
    assert np.array_equal(done.hu[1], done.hu[2])


def test_integers_stay_integers() -> None:
    before = volume().astype(np.int16)
    done = acdnet.reduce(before, (2.0, 2.0), "li")
    assert done.hu.dtype == np.int16
    assert np.array_equal(done.hu[0], before[0])


def test_a_mask_of_the_user_is_believed() -> None:
    image = body(metal=False)
    mask = np.zeros(image.shape, bool)
    mask[50:55, 60:66] = True
    done = acdnet.reduce(image, (2.0, 2.0), "li", mask=mask)
    assert np.array_equal(done.mask, mask)
    assert np.array_equal(done.hu[mask], image[mask])
    assert not np.array_equal(done.hu, image)
    with pytest.raises(InputRefused, match="mask"):
        acdnet.reduce(image, (2.0, 2.0), "li", mask=mask[:-1])
    with pytest.raises(InputRefused, match="0 and 1"):
        acdnet.reduce(image, (2.0, 2.0), "li", mask=image)  # type: ignore[arg-type]


def test_arguments_that_cannot_be() -> None:
    with pytest.raises(InputRefused, match="spacing_mm"):
        acdnet.reduce(body(), (2.0,), "li")
    with pytest.raises(InputRefused, match="H x W"):
        acdnet.reduce(np.zeros(5), (2.0, 2.0), "li")
    with pytest.raises(ConfigError, match="acdnet, cnnmar"):
        acdnet.reduce(body(), (2.0, 2.0), "magic")
    with pytest.raises(ConfigError, match="device"):
        acdnet.reduce(body(), (2.0, 2.0), device="toaster")


def test_neighbours_are_parted_where_slices_are_missing() -> None:
    assert neighbours([0.0, 3.0, 6.0, 15.0, 18.0]) == [(0, 3), (3, 5)]
    assert neighbours([None, None]) == [(0, 1), (1, 2)]
    assert neighbours([5.0]) == [(0, 1)]


def test_results_come_in_order() -> None:
    assert list(in_parallel(lambda n: n * n, range(7), 3)) == [(n, n * n) for n in range(7)]


def test_change_far_from_metal_is_measured() -> None:
    hu = np.full((96, 96), 40.0, np.float32)
    metal = np.zeros(hu.shape, bool)
    metal[5, 5] = True
    slice_ = Slice(hu, (2.0, 2.0), np.zeros_like(metal), 3071.0)
    change = np.zeros_like(hu)
    change[60:, 60:] = 100.0
    found = look_at(slice_, metal, change)
    assert found.most_change_hu == 100
    assert found.far_change_hu is not None
    assert found.far_change_hu > found.mean_change_hu
    assert found.soft_shift_hu == pytest.approx(change[hu < 100].mean(), rel=0.1)


def test_slices_of_a_kind_are_told_in_one_line() -> None:
    records = [SliceReport(n, "reduced", 5, far_change_hu=20.0 + n, soft_shift_hu=-12.0) for n in (1, 2, 3, 5)]
    records += [SliceReport(4, "unchanged"), SliceReport(6, "passed through", 9, saturated=True, reason="edge")]
    assert cautions(records) == [
        "slice 6 left as it came: edge",
        "slices 1-3, 5: tissue further than 5 cm from metal changed by 21 to 25 HU on average",
        "slices 1-3, 5: soft tissue was shifted by -12 HU on average",
        "slice 6: the metal is cut off at the largest value the images can hold",
    ]
