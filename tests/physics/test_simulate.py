from typing import Any

import numpy as np
import pytest

import acdnet
from acdnet.errors import ConfigError, InputRefused

WATER = np.zeros((64, 64), np.float32)
METAL = np.zeros((64, 64), bool)
METAL[30:34, 30:34] = True


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hu": np.full((64, 64), np.nan)}, "not finite"),
        ({"hu": np.full((64, 64), 1e6)}, "not Hounsfield"),
        ({"hu": np.zeros((64, 60))}, "square"),
        ({"hu": np.zeros((2, 64, 64))}, "H x W"),
        ({"hu": np.zeros((64, 64), complex)}, "slice of real numbers"),
        ({"hu": np.zeros((16, 16)), "metal": METAL[:16, :16]}, "pixels are needed"),
        ({"metal": np.zeros((64, 64), bool)}, "no metal lies inside"),
        ({"metal": np.ones((64, 64), bool)}, "inverted"),
        ({"metal": METAL[:60]}, "must be the same"),
        ({"metal": np.full((64, 64), np.nan)}, "not finite"),
        ({"metal": np.array([["a"]])}, "mask must be boolean"),
        ({"protocol": "clinical", "pixel_mm": 0.0}, "pixel_mm"),
        ({"protocol": "clinical", "pixel_mm": float("nan")}, "pixel_mm"),
    ],
)
def test_bad_input_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputRefused, match=message):
        acdnet.simulate(**({"hu": WATER, "metal": METAL} | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"protocol": "other"}, "syndeeplesion, clinical"),
        ({"protocol": "clinical"}, "pixel size"),
        ({"material": "wood"}, "no metal"),
        ({"material": "water"}, "no metal"),
    ],
)
def test_bad_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        acdnet.simulate(WATER, METAL, **changes)


def test_integers_are_hounsfield_units_too() -> None:
    made = acdnet.simulate(WATER.astype(np.int16), METAL.astype(np.uint8))
    assert made.metal.sum() == 16
    assert made.sinogram.shape == (640, 641)
