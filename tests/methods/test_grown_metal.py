import numpy as np
import pytest
from numpy.typing import NDArray

from acdnet.errors import ConfigError
from acdnet.methods.metal import Segmentation, find_metal, overlap

MM = (1.0, 1.0)


def grown(slices: NDArray[np.float32], threshold_hu: float = 2500.0) -> NDArray[np.bool_]:
    return find_metal(slices, MM, Segmentation("grown", threshold_hu))


def canvas(**values: float) -> NDArray[np.float32]:
    """Return a body of water, with discs of radius 5 at given places: name = HU."""
    hu = np.full((100, 100), 20.0, np.float32)
    y, x = np.ogrid[:100, :100]
    places = {"a": (30, 30), "b": (70, 70), "c": (30, 70)}
    for name, value in values.items():
        row, column = places[name]
        hu[(y - row) ** 2 + (x - column) ** 2 <= 25] = value
    return hu


def disc(row: int, column: int, radius: float = 5) -> NDArray[np.bool_]:
    y, x = np.ogrid[:100, :100]
    return np.asarray((y - row) ** 2 + (x - column) ** 2 <= radius**2)


def test_metal_is_found_and_bone_contrast_and_enamel_are_not() -> None:
    image = canvas(a=4000, b=1800, c=2300)
    image[28:33, 36:60] = 2100  # a tooth that touches its filling
    assert np.array_equal(grown(image), disc(30, 30))


def test_the_edge_of_a_bright_metal_lies_half_way_up() -> None:
    """A blurred edge of a metal at 12,000 HU passes 2500 HU outside of the metal."""
    from scipy.ndimage import gaussian_filter

    blurred = gaussian_filter(canvas(a=12_000), 1.2)
    plain = find_metal(blurred, MM, Segmentation("threshold"))
    found = grown(blurred)
    assert overlap(found, disc(30, 30)) > 0.9 > overlap(plain, disc(30, 30))


def test_a_dark_core_is_metal_and_a_hole_of_tissue_is_not() -> None:
    starved, ring = canvas(a=4000), canvas(a=4000)
    starved[disc(30, 30, 2)] = 1200
    ring[disc(30, 30, 2)] = 40
    assert np.array_equal(grown(starved), disc(30, 30))
    assert np.array_equal(grown(ring), disc(30, 30) & ~disc(30, 30, 2))


def test_a_speck_is_noise_unless_a_neighbouring_slice_has_it_too() -> None:
    speck = canvas()
    speck[40, 40] = 2700
    assert not grown(speck).any()
    assert grown(np.stack([speck, speck])).sum() == 2
    assert grown(np.stack([speck, canvas()])).sum() == 0


def test_less_is_needed_where_a_neighbouring_slice_has_metal() -> None:
    """The last slice of an implant fills only a part of the slice and is less bright; enamel alone does not count."""
    assert not grown(np.stack([canvas(a=4000), canvas(a=2200)]))[1].any()
    stack = np.stack([canvas(a=4000), canvas(a=2400), canvas(b=2400)])
    found = grown(stack)
    assert np.array_equal(found[1], disc(30, 30))
    assert not found[2].any()


def test_saturated_or_not_is_the_same_metal() -> None:
    assert np.array_equal(grown(canvas(a=3071)), grown(canvas(a=9000)))


def test_the_threshold_of_the_paper_stays_available() -> None:
    image = canvas(a=4000, b=2600)
    image[5, 5] = 2501
    assert np.array_equal(find_metal(image, MM, Segmentation("threshold")), image > 2500)
    with pytest.raises(ConfigError, match="localiser, grown, threshold"):
        Segmentation("magic")


def test_a_low_threshold_is_used() -> None:
    assert np.array_equal(grown(canvas(a=1800), 1500.0), disc(30, 30))


def test_air_has_no_metal() -> None:
    assert not grown(np.full((64, 64), -1000.0, np.float32)).any()
