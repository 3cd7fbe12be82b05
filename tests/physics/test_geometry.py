import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acdnet.errors import ConfigError
from acdnet.physics.geometry import FanBeam


def test_benchmark_in_numbers() -> None:
    g = FanBeam.benchmark()
    assert g.sinogram_shape == (640, 641)
    assert g.source == pytest.approx(1075)
    assert g.size * g.pixel_cm == pytest.approx(15.36)
    assert g.bins * g.bin_cm == pytest.approx(43.44, abs=0.01)
    assert g.angles[0] == pytest.approx(math.pi / 640)
    assert g.positions[320] == pytest.approx(0.0)


def test_benchmark_is_the_same_patient_at_any_size() -> None:
    small, large = FanBeam.benchmark(104), FanBeam.benchmark(416)
    assert small.source_cm == large.source_cm
    assert small.bins * small.bin_cm == pytest.approx(large.bins * large.bin_cm)


@given(size=st.integers(16, 1024), pixel_mm=st.floats(0.2, 1.5))
def test_a_scanner_around_an_image_sees_all_of_it(size: int, pixel_mm: float) -> None:
    g = FanBeam.around(size, pixel_mm / 10)
    corner = math.sqrt(0.5) * size
    assert g.positions[-1] >= g.source * math.tan(math.asin(corner / g.source)) - g.pitch
    assert g.pitch < 1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"views": 60}, "multiple of 8"),
        ({"pixel_cm": 0.0}, "pixel_cm"),
        ({"pixel_cm": float("nan")}, "pixel_cm"),
        ({"source_cm": 5.0}, "inside the image|fan"),
        ({"bins": 100_000}, "fan"),
        ({"size": 1}, "at least 2"),
    ],
)
def test_impossible_scanners_are_refused(changes: dict[str, float], message: str) -> None:
    good = {
        "size": 64,
        "pixel_cm": 0.2,
        "views": 64,
        "bins": 101,
        "bin_cm": 0.3,
        "source_cm": 50.0,
        "detector_cm": 40.0,
    }
    FanBeam(**good)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=message):
        FanBeam(**(good | changes))  # type: ignore[arg-type]


def test_an_image_that_is_too_wide_moves_the_source_away() -> None:
    assert FanBeam.around(416, 0.09).source_cm == 57.0
    assert FanBeam.around(416, 0.17).source_cm > 70.0


def test_is_a_value() -> None:
    assert FanBeam.benchmark() == FanBeam.benchmark()
    assert len({FanBeam.benchmark(), FanBeam.benchmark()}) == 1
    assert np.array_equal(FanBeam.benchmark().angles, FanBeam.benchmark().angles)
