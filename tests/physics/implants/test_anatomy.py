import numpy as np
import pytest

from acdnet.errors import InputRefused
from acdnet.physics.implants.anatomy import find_anatomy
from acdnet.physics.phantom import make_phantom


def test_regions_are_distinguished() -> None:
    for seed in range(4):
        phantoms = {site: make_phantom(site, seed) for site in ("pelvis", "thorax", "head")}
        for site, phantom in phantoms.items():
            assert find_anatomy(phantom.hu, phantom.pixel_mm).region == site


def test_values_that_are_not_hu_are_refused() -> None:
    hu = make_phantom("head", 0, 128).hu
    for wrong in (hu + np.float32(1024), (hu + np.float32(1000)) / np.float32(5000)):
        with pytest.raises(InputRefused, match="in HU"):
            find_anatomy(wrong, 1.0)


def test_no_body_is_refused() -> None:
    with pytest.raises(InputRefused, match="no body found"):
        find_anatomy(np.full((64, 64), -1000, np.float32), 1.0)
