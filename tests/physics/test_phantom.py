import numpy as np
import pytest

from acdnet.errors import ConfigError
from acdnet.physics.implants.anatomy import find_anatomy
from acdnet.physics.implants.draw import draw_implant
from acdnet.physics.phantom import SITES, make_phantom


@pytest.mark.parametrize("site", SITES)
def test_a_phantom_has_fat_soft_tissue_bone_and_air(site: str) -> None:
    phantom = make_phantom(site, 1)
    body = find_anatomy(phantom.hu, phantom.pixel_mm).body
    inside = phantom.hu[body]
    fat, soft, bone, air = (inside < -50) & (inside > -160), (inside > 0) & (inside < 120), inside > 300, inside < -500
    assert fat.mean() > 0.03
    assert soft.mean() > 0.15
    assert bone.mean() > 0.02
    assert air.sum() > 20
    assert phantom.hu.min() >= -1000
    assert phantom.hu.max() > 800
    assert body.sum() * phantom.pixel_mm**2 > 15_000


@pytest.mark.parametrize("site", SITES)
def test_left_and_right_differ(site: str) -> None:
    hu = make_phantom(site, 1).hu
    assert np.abs(hu - hu[:, ::-1]).mean() > 8


@pytest.mark.parametrize("site", SITES)
def test_patients_differ_and_come_back(site: str) -> None:
    assert np.array_equal(make_phantom(site, 4).hu, make_phantom(site, 4).hu)
    assert not np.array_equal(make_phantom(site, 4).hu, make_phantom(site, 5).hu)


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("seed", range(3))
def test_its_implants_fit(site: str, seed: int) -> None:
    phantom = make_phantom(site, seed)
    implant = draw_implant(find_anatomy(phantom.hu, phantom.pixel_mm), np.random.default_rng(seed), phantom.kinds)
    assert implant.kind in phantom.kinds


def test_size_and_unknown_sites() -> None:
    assert make_phantom("head", 0, 96).hu.shape == (96, 96)
    with pytest.raises(ConfigError, match="pelvis"):
        make_phantom("knee", 0)


def test_neighbouring_slices_are_alike_but_not_the_same() -> None:
    one, same, near, far = (make_phantom("pelvis", 3, 128, z).hu for z in (0.0, 0.0, 3.0, 60.0))
    assert np.array_equal(one, same)
    assert 0 < np.abs(near - one).mean() < 0.5 * np.abs(far - one).mean()
