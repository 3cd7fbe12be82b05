import math
from dataclasses import replace

import numpy as np
import pytest

from acdnet.data.pairs import PairInfo
from acdnet.data.store import Pair
from acdnet.evaluate.case import Case
from acdnet.evaluate.off_target import Change, needless, over_pixels, over_slices


def test_only_clean_tissue_far_from_metal_counts() -> None:
    clean = np.full((80, 90), 40.0, np.float32)
    clean[:, 70:75] = 800.0
    metal = np.zeros(clean.shape, bool)
    metal[40, 5] = True
    corrupted = clean.copy()
    corrupted[:, 80:] += 100.0  # an artifact: a change is not needless here
    case = Case(PairInfo("a", "a", "", None), Pair(clean, corrupted, clean, metal), "clinical", 1.0, None)
    y, x = np.ogrid[:80, :90]
    near = np.hypot(y - 40, x - 5) <= 50
    image = corrupted + 3.0 + np.where(near, 1000.0, 0.0)
    image[:, 80:] -= 500.0
    found = needless(image.astype(np.float32), case)
    assert found.keys() == {"soft", "bone"}
    assert [found[tissue].hu for tissue in ("soft", "bone")] == pytest.approx([3.0, 3.0])
    assert found["bone"].pixels == 80 * 5
    assert found["soft"].pixels == (~near & (x < 80)).sum() - 80 * 5

    far = needless(image.astype(np.float32), replace(case, pixel_mm=0.1))["bone"]
    assert math.isnan(far.hu)
    assert far.pixels == 0


def test_means_over_slices_and_over_pixels() -> None:
    changes = [Change(1.0, 100), Change(4.0, 50), Change(math.nan, 0)]
    assert over_slices(changes) == 2.5
    assert over_pixels(changes) == 2.0
    assert math.isnan(over_slices([Change(math.nan, 0)]))
    assert math.isnan(over_pixels([]))
