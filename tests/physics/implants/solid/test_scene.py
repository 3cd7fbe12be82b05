import numpy as np
import pytest

from acdnet.errors import InputRefused
from acdnet.physics.implants.solid.dental import arch
from acdnet.physics.implants.solid.scene import NoRoom, find_scene, find_sites
from acdnet.physics.implants.solid.spine import vertebra
from acdnet.physics.phantom import make_phantom
from tests.physics.implants.solid.make import HEIGHTS, MM, leg, leg_scene, phantom_scene


@pytest.mark.parametrize(
    ("region", "sites"),
    [
        ("hip/thigh", ("hip", "thigh")),
        ("knee/lower leg", ("knee", "leg")),
        ("forearm/wrist/hand", ("arm",)),
        ("lumbar spine/abdomen", ("abdomen",)),
        ("thorax/thoracic spine", ("thorax",)),
        ("Skull", ("skull",)),
        ("thorax/abdomen", ("pelvis",)),  # the slice decides
        ("", ("pelvis",)),
        ("unknown", ("pelvis",)),
    ],
)
def test_regions_name_sites(region: str, sites: tuple[str, ...]) -> None:
    phantom = make_phantom("pelvis", 0)
    assert find_sites(region, phantom.hu, phantom.pixel_mm) == sites


@pytest.mark.parametrize("slope", [0.0, 0.3, -0.6])
def test_the_axis_of_a_long_bone_follows_the_slices(slope: float) -> None:
    (bone,) = leg_scene(slope).long_bones
    assert bone.axis[0] / bone.axis[2] == pytest.approx(slope, abs=0.08)
    assert bone.axis[1] == pytest.approx(0, abs=0.08)
    assert bone.point[:2] == pytest.approx([10 + slope * 1.5, 5], abs=1.0)
    assert bone.outer == pytest.approx(14, abs=1.2)
    assert bone.inner == pytest.approx(8, abs=1.2)
    assert bone.at(9.0)[0] - bone.at(-9.0)[0] == pytest.approx(18 * slope, abs=1.5)


def test_a_bone_that_ends_within_the_slices_is_not_long() -> None:
    hu = leg()
    hu[-1][hu[-1] > 100] = 50.0
    assert find_scene(hu, HEIGHTS, 3.0, MM, "knee").long_bones == ()


def test_vertebra_and_teeth_are_found() -> None:
    trunk = phantom_scene("thorax")
    at = vertebra(trunk)
    k, row, column = trunk.pixel(at)
    assert trunk.hu[k, row - 3 : row + 4, column - 3 : column + 4].mean() > 100
    assert abs(at[0]) < 15
    teeth, _ = arch(phantom_scene("head"))
    assert len(teeth) > 6
    with pytest.raises(NoRoom):
        arch(trunk)


def test_slices_without_a_body_are_refused() -> None:
    air = np.full((2, 64, 64), -1000, np.float32)
    with pytest.raises(InputRefused, match="no body found"):
        _ = find_scene(air, (0.0, 1.0), 1.0, 1.0, "hip").body
    with pytest.raises(InputRefused, match="in HU"):
        find_scene(air + 1500, (0.0, 1.0), 1.0, 1.0, "hip")
