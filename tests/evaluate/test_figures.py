from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from acdnet.data.store import Pair
from acdnet.evaluate.figures import draw_stages
from acdnet.methods.acdnet import ACDNetMethod
from acdnet.physics.measurement import Measurement
from tests.helpers import SMALL, make_model


def test_many_stages_take_several_rows(tmp_path: Path) -> None:
    metal = np.zeros((48, 48), bool)
    metal[20:24, 20:24] = True
    clean = np.zeros((48, 48), np.float32)
    pair = Pair(clean, clean + np.float32(30.0), clean, metal)
    measurement = Measurement(pair.corrupted, metal, (2.0, 2.0), given={"li": clean})
    sizes = []
    for T in (3, 10):
        found = ACDNetMethod(make_model(replace(SMALL, T=T))).decompose([measurement])[0].decomposition
        assert found is not None
        draw_stages(pair, found, tmp_path / f"{T}.png")
        with Image.open(tmp_path / f"{T}.png") as picture:
            sizes.append(picture.size)
    (few_wide, few_high), (many_wide, many_high) = sizes
    assert many_wide == pytest.approx(6 / 4 * few_wide, rel=0.05)  # two rows of six instead of one of eleven
    assert many_high > 1.5 * few_high
