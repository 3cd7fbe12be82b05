import numpy as np
import pytest

from acdnet.errors import ConfigError, InputRefused
from acdnet.physics.implants.anatomy import Anatomy, find_anatomy
from acdnet.physics.implants.draw import AREA_AT_416, draw_implant
from acdnet.physics.implants.kinds import KINDS
from acdnet.physics.implants.shapes import Sheet
from acdnet.physics.phantom import make_phantom


def anatomy(site: str, seed: int = 0) -> Anatomy:
    phantom = make_phantom(site, seed)
    return find_anatomy(phantom.hu, phantom.pixel_mm)


@pytest.mark.parametrize("site", ["pelvis", "thorax", "head"])
def test_areas_are_spread_over_the_decades(site: str) -> None:
    """Small, medium and large metal in every region, without shapes of the user."""
    rng, body = np.random.default_rng(0), anatomy(site)
    areas = np.array([draw_implant(body, rng).mask.sum() for _ in range(60)])
    assert areas.min() >= AREA_AT_416[0]
    assert areas.max() <= AREA_AT_416[1]
    third = np.geomspace(AREA_AT_416[0], AREA_AT_416[1], 4)
    counts = np.histogram(areas, third)[0]
    assert counts.min() >= 8, counts


@pytest.mark.parametrize("site", ["pelvis", "thorax", "head"])
def test_only_implants_of_the_region_are_drawn(site: str) -> None:
    rng, body = np.random.default_rng(3), anatomy(site)
    for _ in range(15):
        assert site in KINDS[draw_implant(body, rng).kind].regions


def test_metal_lies_in_the_body() -> None:
    rng = np.random.default_rng(1)
    body = anatomy("thorax")
    for _ in range(20):
        assert not (draw_implant(body, rng).mask & ~body.body).any()


@pytest.mark.parametrize(
    ("kind", "site", "across", "down"),
    [
        ("hip-stem", "pelvis", (0.0, 0.4, 0.6, 1.0), (0.1, 1.0)),
        ("spine-screws", "thorax", (0.3, 0.7), (0.45, 1.0)),
        ("sternal-wires", "thorax", (0.3, 0.7), (0.0, 0.4)),
        ("fillings", "head", (0.0, 1.0), (0.0, 0.65)),
        ("pacemaker", "thorax", (0.0, 1.0), (0.0, 0.5)),
    ],
)
def test_implants_sit_where_they_do_in_patients(
    kind: str, site: str, across: tuple[float, ...], down: tuple[float, float]
) -> None:
    body = anatomy(site)
    allowed = np.zeros_like(body.body)
    for low, high in zip(across[::2], across[1::2], strict=True):
        allowed |= body.band((low, high), down)
    for seed in range(5):
        mask = draw_implant(body, np.random.default_rng(seed), (kind,)).mask
        assert (mask & allowed).sum() > 0.8 * mask.sum()


def test_the_state_of_the_generator_decides() -> None:
    body = anatomy("pelvis")
    one, same = (draw_implant(body, np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(one.mask, same.mask)
    assert (one.kind, one.metal) == (same.kind, same.metal)


def test_there_are_no_teeth_in_a_thorax() -> None:
    with pytest.raises(InputRefused, match="occurs in the thorax"):
        draw_implant(anatomy("thorax"), np.random.default_rng(0), ("fillings",))


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(ConfigError, match="knee"):
        draw_implant(anatomy("head"), np.random.default_rng(0), ("knee",))
    assert len(KINDS) >= 10


def test_shapes_have_the_given_size() -> None:
    sheet = Sheet.at((200, 200), 100.3, 99.8, 0.5)
    area = 0.25  # mm^2 of a pixel
    assert sheet.disc(20).sum() * area == pytest.approx(np.pi * 400, rel=0.01)
    assert sheet.rod(30, 4).sum() * area == pytest.approx(30 * 4 + np.pi * 4, rel=0.03)
    assert sheet.moved(5, 5, 0.7).box(20, 10).sum() * area == pytest.approx(200, rel=0.03)
    assert sheet.arc(30, 4, 1.0, np.pi).sum() * area == pytest.approx(np.pi * 30 * 4, rel=0.03)
