"""The drawn pixels compared with the values in the files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from acdnet.io.dicom.create import new_series, write_series
from acdnet.viewer.result import open_result
from acdnet.viewer.view_model import ViewModel
from tests.reduction.make import run
from tests.viewer.browser import OVERLAY, READY, bounds, drag, pixels, screen, until, value, viewer, visit

ROWS, COLUMNS, SPACING = 80, 96, (1.4, 2.0)
METAL_PLACE = np.s_[20:31, 54:63]
ERROR_PLACE = np.s_[60:70, 12:40]
GREY = -700.0  # HU around the body, so that the edge of the image is visible in the wide window
WIDE, SOFT = (-1000, 3000), (-160, 240)
CYAN = (0, 216, 255)
BLUE = (138, 180, 248)
GRID = (44, 52, 59)


@pytest.fixture(scope="module")
def lopsided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reduce an asymmetric slice and set a known expected error."""
    folder = tmp_path_factory.mktemp("lopsided")
    hu = np.full((1, ROWS, COLUMNS), GREY, np.float32)
    hu[0, 8:72, 10:90] = 40.0
    hu[0, 23:28, 10:90] = 150.0  # a streak through the metal
    hu[0, 48:58, 60:80] = 700.0
    hu[0][METAL_PLACE] = 3071.0
    write_series(folder / "scan", new_series(hu, (3.0, *SPACING), "Secret"))
    assert run("reduce", folder / "scan", folder / "out", "--method", "li", "--segmentation", "grown").code == 0
    maps = folder / "out" / "maps" / "0001.npz"
    metal = np.load(maps)["metal"]
    assert metal[METAL_PLACE].any()
    expected_error = np.zeros((ROWS, COLUMNS), np.uint16)
    expected_error[ERROR_PLACE] = 100
    np.savez(maps, metal=metal, expected_error_hu=expected_error)
    return folder / "out"


@pytest.fixture(scope="module")
def lopsided_address(lopsided: Path) -> Iterator[str]:
    with viewer("view", lopsided) as started:
        yield started


@pytest.fixture
def opened(page: Any, lopsided_address: str) -> Any:
    visit(page, lopsided_address)
    page.wait_for_timeout(300)  # the first layout
    return page


def box_in(page: Any, pane: int, place: tuple[slice, slice]) -> tuple[float, float, float, float]:
    """Return where rows and columns of the image belong on the canvas, from the outline of the image alone."""
    page.keyboard.press("w")
    top, bottom, left, right = bounds(pixels(page, pane)[..., 0] > 10)
    high, wide = (bottom + 1 - top) / ROWS, (right + 1 - left) / COLUMNS
    assert high / wide == pytest.approx(
        SPACING[0] / SPACING[1], rel=0.02
    )  # pixels have the aspect ratio of their size in mm
    rows, columns = place
    return top + rows.start * high, top + rows.stop * high, left + columns.start * wide, left + columns.stop * wide


def whole(mask: NDArray[Any]) -> tuple[slice, slice]:
    """Return the rows and columns that contain a mask."""
    first, last, left, right = bounds(mask)
    return slice(first, last + 1), slice(left, right + 1)


def shade(hu: float, window: tuple[int, int]) -> float:
    """Return the grey value of HU in a window."""
    return float(np.clip(255 * (hu - window[0]) / (window[1] - window[0]), 0, 255))


def near(picture: NDArray[np.uint8], colour: tuple[int, int, int], by: int = 12) -> NDArray[np.bool_]:
    return np.asarray((np.abs(picture[..., :3].astype(int) - colour) <= by).all(-1))


def test_overlays_are_drawn_at_their_positions(opened: Any, lopsided: Path) -> None:
    result = open_result(lopsided)
    metal = result.metal(0)
    assert metal is not None
    for pane in range(3):
        expected = box_in(
            opened, 0, whole(metal)
        )  # the outline of a difference is invisible; all panes have the same layout
        over = pixels(opened, pane, OVERLAY)
        outline = near(over, CYAN) & (over[..., 3] > 120)
        first, last, left, right = bounds(outline)
        assert np.allclose((first, last + 1, left, right + 1), expected, atol=2)
        middle = (first + last) // 2, (left + right) // 2
        assert over[*middle, 3] == 0  # an outline, not a patch
        assert outline[middle[0], left : left + 3].any()
        assert outline[first : first + 3, middle[1]].any()
    bright = bounds(pixels(opened, 0)[..., 0] > 160)  # the metal in the image below
    outline = near(pixels(opened, 0, OVERLAY), CYAN)
    assert np.allclose(bright, bounds(outline), atol=2)

    opened.keyboard.press("m")
    assert not near(pixels(opened, 0, OVERLAY), CYAN).any()
    opened.keyboard.press("e")
    expected = box_in(opened, 0, ERROR_PLACE)
    for pane in range(3):
        red = near(pixels(opened, pane, OVERLAY), (255, 30, 30), by=20) & (pixels(opened, pane, OVERLAY)[..., 3] > 120)
        first, last, left, right = bounds(red)
        assert np.allclose((first, last + 1, left, right + 1), expected, atol=5)  # its edge is soft
        assert red[first + 4 : last - 4, left + 4 : right - 4].all()
        opened.mouse.move(10, 10)


def test_windows_and_keys_change_the_grey_values(opened: Any, lopsided: Path) -> None:
    result = open_result(lopsided)
    before = result.image(0, "before")
    for place in ((53, 70), (40, 20), (75, 50)):
        top, bottom, left, right = box_in(opened, 0, (slice(place[0], place[0] + 1), slice(place[1], place[1] + 1)))
        at = int((top + bottom) / 2), int((left + right) / 2)
        for key, window in {"s": SOFT, "b": (-450, 1050), "l": (-1350, 150), "w": WIDE}.items():
            opened.keyboard.press(key)
            assert pixels(opened, 0)[*at, 0] == pytest.approx(shade(before[place], window), abs=2)
    opened.keyboard.press("i")
    assert pixels(opened, 0)[*at, 0] == pytest.approx(255 - shade(before[place], WIDE), abs=2)
    opened.keyboard.press("0")
    assert pixels(opened, 0)[*at, 0] == pytest.approx(shade(before[place], SOFT), abs=2)


def most_changed(result: ViewModel) -> tuple[int, int]:
    """Return a pixel without metal where before and after differ most in the soft tissue window."""
    metal = result.metal(0)
    assert metal is not None
    seen = [np.clip(result.image(0, name), *SOFT) for name in ("before", "after")]
    row, column = np.unravel_index(np.where(metal, 0, np.abs(seen[0] - seen[1])).argmax(), (ROWS, COLUMNS))
    return int(row), int(column)


def test_a_swipe_shows_before_and_after(opened: Any, lopsided: Path) -> None:
    result = open_result(lopsided)
    row, column = most_changed(result)
    shades = [shade(float(result.image(0, name)[row, column]), SOFT) for name in ("before", "after")]
    assert abs(shades[0] - shades[1]) > 20
    opened.keyboard.press("2")
    until(opened, f"window.acdnet.view === 'swipe' && {READY}")
    opened.keyboard.press("m")
    opened.wait_for_timeout(300)
    x, y = value(opened, f"window.acdnet.panes[0].point({row}, {column})")
    panes = opened.locator("#panes").bounding_box()
    seen = []
    for aside in (60, -60):  # the divider right of the pixel, then left of it
        bar = opened.locator("#swipe-bar").bounding_box()
        drag(opened, bar["x"] + 7, panes["y"] + 100, panes["x"] + x + aside, panes["y"] + 100, steps=4)
        seen.append(screen(opened, "#panes")[int(y), int(x), 0])
    assert seen == pytest.approx(shades, abs=3)


def test_a_profile_shows_the_values_of_the_file(opened: Any, lopsided: Path) -> None:
    result = open_result(lopsided)
    row = 53
    panes = opened.locator("#panes").bounding_box()
    ends = [value(opened, f"window.acdnet.panes[0].point({row}, {column})") for column in (20, 90)]
    drag(
        opened,
        panes["x"] + ends[0][0],
        panes["y"] + ends[0][1],
        panes["x"] + ends[1][0],
        panes["y"] + ends[1][1],
        steps=4,
        key="Shift",
    )
    opened.wait_for_timeout(300)
    line = value(opened, "window.acdnet.line")
    assert np.allclose(
        [line["from"], line["to"]], [(row, 20), (row, 90)], atol=0.6
    )  # the line does not move with the layout
    ends = [value(opened, f"window.acdnet.panes[0].point({row}, {column})") for column in (20, 90)]
    over = pixels(opened, 0, OVERLAY)
    drawn = near(over, BLUE) & (over[..., 3] > 120)
    columns = np.flatnonzero(drawn.any(0))
    assert (columns.min(), columns.max()) == pytest.approx((ends[0][0], ends[1][0]), abs=2)

    picture = screen(opened, "#profile")
    grid = near(picture, GRID, 4)
    grid[0] = False  # the border
    lines = np.flatnonzero(grid.sum(1) > picture.shape[1] / 3)
    left, right = (int(end) for end in np.flatnonzero(grid[lines].any(0))[[0, -1]])
    top, bottom = int(lines[0]), int(lines[-1])
    curves = [np.rint(result.image(0, name)[row, 20:91]) for name in ("before", "after", "difference")]
    low, high = min(curve.min() for curve in curves), max(curve.max() for curve in curves)
    for column in (25, 50, 70, 85):  # body, body, bone, body
        x = round(left + (column - 20) / 70 * (right - left))
        expected = bottom - (curves[2][column - 20] - low) / (high - low) * (bottom - top)
        ink = picture[:, x, 2].astype(int) - picture[:, x, 0] > 40  # blue: the last curve is drawn over the others
        assert np.abs(np.flatnonzero(ink) - expected).min() <= 2
    opened.keyboard.press("Escape")
    assert not opened.is_visible("#profile")
