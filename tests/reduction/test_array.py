import numpy as np
import pytest

import acdnet
from acdnet.errors import ConfigError, InputRefused
from tests.reduction.make import body, volume


@pytest.mark.parametrize("method", ["acdnet", "li", "bhc", "nmar", "nmar-raw"])
def test_every_method_changes_the_streak_and_not_the_metal(method: str) -> None:
    before = volume()
    done = acdnet.reduce(before, (3.0, 2.0, 2.0), method, metal_threshold=2500)
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


def test_a_mask_of_the_user_is_used() -> None:
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


@pytest.mark.parametrize("spacing_mm", [(2.0, 2.0), (3.0, 2.0, 2.0)])
def test_reduce_and_find_metal_agree(spacing_mm: tuple[float, ...]) -> None:
    """Only slices whose distance is known count as adjacent: there the faint disc continues metal."""
    before = volume()
    before[0] = np.where(before[1] > 2500, 2300, before[0])
    found = acdnet.find_metal(before, spacing_mm)
    assert np.array_equal(found, acdnet.reduce(before, spacing_mm, "li").mask)
    assert found[0].any() == (len(spacing_mm) == 3)


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(InputRefused, match="truth values"):
        acdnet.reduce(body() > 0, (2.0, 2.0), "li", mask=body() > 2500)
    with pytest.raises(InputRefused, match="spacing_mm"):
        acdnet.reduce(body(), (2.0,), "li")
    with pytest.raises(InputRefused, match="H x W"):
        acdnet.reduce(np.zeros(5), (2.0, 2.0), "li")
    with pytest.raises(ConfigError, match="no method 'magic'; choose one of li, bhc"):
        acdnet.reduce(body(), (2.0, 2.0), "magic")
    with pytest.raises(ConfigError, match="device"):
        acdnet.reduce(body(), (2.0, 2.0), device="toaster")
