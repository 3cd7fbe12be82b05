from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from acdnet.errors import ConfigError, InputRefused
from acdnet.physics.implants.anatomy import Anatomy, find_anatomy
from acdnet.physics.implants.draw import AREA_AT_416, draw_implant
from acdnet.physics.implants.given import place, read_shapes
from acdnet.physics.implants.library import KINDS
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


def test_regions_are_told_apart() -> None:
    for seed in range(4):
        assert [anatomy(site, seed).region for site in ("pelvis", "thorax", "head")] == ["pelvis", "thorax", "head"]


@pytest.mark.parametrize("site", ["pelvis", "thorax", "head"])
def test_only_implants_of_the_region_are_drawn(site: str) -> None:
    rng, body = np.random.default_rng(3), anatomy(site)
    for _ in range(15):
        assert site in KINDS[draw_implant(body, rng).kind].regions


def test_values_that_are_not_hu_are_refused() -> None:
    hu = make_phantom("head", 0, 128).hu
    for wrong in (hu + np.float32(1024), (hu + np.float32(1000)) / np.float32(5000)):
        with pytest.raises(InputRefused, match="in HU"):
            find_anatomy(wrong, 1.0)


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
    with pytest.raises(InputRefused, match="is found in a thorax"):
        draw_implant(anatomy("thorax"), np.random.default_rng(0), ("fillings",))


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(ConfigError, match="knee"):
        draw_implant(anatomy("head"), np.random.default_rng(0), ("knee",))
    assert len(KINDS) >= 10


def test_no_body_is_refused() -> None:
    with pytest.raises(InputRefused, match="no body found"):
        find_anatomy(np.full((64, 64), -1000, np.float32), 1.0)


def test_shapes_are_as_large_as_they_say() -> None:
    sheet = Sheet.at((200, 200), 100.3, 99.8, 0.5)
    area = 0.25  # mm^2 of a pixel
    assert sheet.disc(20).sum() * area == pytest.approx(np.pi * 400, rel=0.01)
    assert sheet.rod(30, 4).sum() * area == pytest.approx(30 * 4 + np.pi * 4, rel=0.03)
    assert sheet.moved(5, 5, 0.7).box(20, 10).sum() * area == pytest.approx(200, rel=0.03)
    assert sheet.arc(30, 4, 1.0, np.pi).sum() * area == pytest.approx(np.pi * 30 * 4, rel=0.03)


def test_given_shapes_are_scaled_turned_and_placed() -> None:
    bar = np.ones((4, 40), bool)
    placed = place(bar, (100, 100), (60.0, 30.0), 640.0, 1.4)
    assert placed.sum() == pytest.approx(640, rel=0.1)
    rows, columns = np.nonzero(placed)
    assert rows.mean() == pytest.approx(60, abs=1)
    assert columns.mean() == pytest.approx(30, abs=1)
    assert np.ptp(rows) > 3 * np.ptp(columns)


@pytest.fixture
def shape() -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    made = np.zeros((32, 32), bool)
    made[5:9, 10:20] = True
    return made


def test_shapes_are_read_from_files(tmp_path: Path, shape: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> None:
    np.save(tmp_path / "one.npy", shape)
    np.save(tmp_path / "stack.npy", np.stack([shape, ~shape, np.zeros_like(shape)]))
    np.save(tmp_path / "last.npy", np.stack([shape, shape], 2).astype(np.uint8))
    np.savez_compressed(tmp_path / "some.npz", a=shape, b=np.stack([shape, shape]))
    Image.fromarray(shape.astype(np.uint8) * 255).save(tmp_path / "one.png")
    counts = {"one.npy": 1, "stack.npy": 2, "last.npy": 2, "some.npz": 3, "one.png": 1}
    for name, count in counts.items():
        shapes = read_shapes(tmp_path / name)
        assert len(shapes) == count
        assert shapes[0].shape == (4, 10)
        assert shapes[0].all()
    assert read_shapes(tmp_path / "one.npy", cut=False)[0].shape == (32, 32)


def test_bad_shape_files_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "empty.npy", np.zeros((4, 4)))
    np.save(tmp_path / "nan.npy", np.full((4, 4), np.nan))
    np.save(tmp_path / "four.npy", np.zeros((2, 2, 2, 2)))
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}], object), allow_pickle=True)
    (tmp_path / "text.png").write_text("hello")
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "nan.npy").read_bytes()[:-9])
    (tmp_path / "mask.tif").write_text("")
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", bytes(2**28 + 1))
    for path in (*sorted(tmp_path.iterdir()), tmp_path / "missing.npy"):
        with pytest.raises(InputRefused):
            read_shapes(path)
