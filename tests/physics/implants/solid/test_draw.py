import numpy as np
import pytest
from scipy.ndimage import binary_dilation

from acdnet.errors import ConfigError, InputRefused
from acdnet.physics.implants.kinds import SOLIDS
from acdnet.physics.implants.solid.draw import MAKERS, draw_piece
from acdnet.physics.implants.solid.scene import Scene
from tests.physics.implants.solid.make import leg_scene, phantom_scene


@pytest.fixture(scope="module")
def scenes() -> dict[str, Scene]:
    return {site: phantom_scene(site) for site in ("pelvis", "thorax", "head")} | {"thigh": leg_scene()}


def test_every_implant_has_a_maker() -> None:
    assert set(SOLIDS) == set(MAKERS)


@pytest.mark.parametrize("site", ["pelvis", "thorax", "head", "thigh"])
def test_implants_belong_to_the_site_and_lie_in_the_body(scenes: dict[str, Scene], site: str) -> None:
    rng, scene = np.random.default_rng(0), scenes[site]
    kinds = set()
    for _ in range(12):
        piece = draw_piece(scene, rng)
        assert site in SOLIDS[piece.kind].regions
        assert piece.metal in SOLIDS[piece.kind].metals
        assert (piece.masks & scene.body).sum() > 0.9 * piece.masks.sum() > 0
        assert 0 <= piece.shares.min() < piece.shares.max() <= 1
        kinds.add(piece.kind)
    assert len(kinds) > 3


@pytest.mark.parametrize("slope", [0.0, 0.5])
def test_a_nail_runs_in_the_marrow_of_all_slices(slope: float) -> None:
    scene = leg_scene(slope)
    inside = 0
    for seed in range(5):
        piece = draw_piece(scene, np.random.default_rng(seed), ("nail",))
        nail = piece.masks & (scene.hu < 100)  # locking screws also cross the bone
        inside += int((nail.sum((1, 2)) > 20).sum())
        rows, columns = np.nonzero(piece.masks[3])
        if len(rows):
            centre = scene.point(3, float(np.median(rows)), float(np.median(columns)))
            assert np.hypot(*(centre - scene.long_bones[0].at(centre[2]))[:2]) < 8
    assert inside > 15  # of 30 slices; nails also begin and end in them


def test_plates_lie_on_the_bone() -> None:
    scene = leg_scene()
    for seed in range(4):
        piece = draw_piece(scene, np.random.default_rng(seed), ("plate",))
        rows, columns = np.nonzero(piece.masks.any(0))
        points = np.array([scene.point(0, float(r), float(c))[:2] for r, c in zip(rows, columns, strict=True)])
        away = np.hypot(*(points - scene.long_bones[0].point[:2]).T)
        assert away.max() > 14  # outside of the bone
        assert np.abs(away - 14).min() < 2  # and touching it


def test_fillings_lie_at_the_teeth(scenes: dict[str, Scene]) -> None:
    scene = scenes["head"]
    near = binary_dilation(scene.teeth.any(0), iterations=round(5 / scene.pixel_mm))
    for seed in range(4):
        masks = draw_piece(scene, np.random.default_rng(seed), ("fillings", "crowns", "dental-implants")).masks
        assert (masks.any(0) & near).sum() > 0.8 * masks.any(0).sum()


def test_the_state_of_the_generator_decides(scenes: dict[str, Scene]) -> None:
    one, same = (draw_piece(scenes["pelvis"], np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(one.shares, same.shares)
    assert (one.kind, one.metal) == (same.kind, same.metal)


def test_wrong_kinds_are_refused(scenes: dict[str, Scene]) -> None:
    with pytest.raises(ConfigError, match="no implant 'leads-x'"):
        draw_piece(scenes["thigh"], np.random.default_rng(0), ("leads-x",))
    with pytest.raises(InputRefused, match="occurs in thigh"):
        draw_piece(scenes["thigh"], np.random.default_rng(0), ("fillings",))
    with pytest.raises(InputRefused, match="no implant fits"):
        draw_piece(leg_scene(region="jaw"), np.random.default_rng(0), ("brackets",))
