"""Objects that may be metal: drawn, clicked, and reduced again with other decisions."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from acdnet.viewer.connections import connection_limits
from acdnet.viewer.jobs import Jobs
from tests.reduction.make import report
from tests.viewer.browser import OVERLAY, READY, bounds, drag, pixels, until, until_shown, value, viewer, visit
from tests.viewer.objects import PLACES, WORKER, add, write_objects
from tests.viewer.server import TOKEN
from tests.viewer.sockets import serving

CYAN, YELLOW, GREY = (0, 216, 255), (255, 210, 30), (170, 178, 186)
AGAIN = "#objects #again"


@pytest.fixture(scope="module")
def marked(reduced_by_li: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("marked") / "out"
    shutil.copytree(reduced_by_li, out)
    return write_objects(out)


@pytest.fixture(scope="module")
def marked_address(marked: Path) -> Iterator[str]:
    with viewer("view", marked) as started:
        yield started


def ink(page: Any, colour: tuple[int, int, int], pane: int = 0) -> NDArray[np.bool_]:
    """Return where the overlay of a pane has a colour."""
    over = pixels(page, pane, OVERLAY)
    return np.asarray((np.abs(over[..., :3].astype(int) - colour) <= 12).all(-1) & (over[..., 3] > 120))


def at(page: Any, row: float, column: float, pane: int = 0) -> tuple[float, float]:
    """Return where a pixel of the image is on the page."""
    box = page.locator(".pane .image").nth(pane).bounding_box()
    x, y = value(page, f"window.acdnet.panes[{pane}].point({row}, {column})")
    return box["x"] + x, box["y"] + y


def item(page: Any, number: int) -> Any:
    return page.locator("#objects li").nth(number - 1)


def go(page: Any, number: int) -> None:
    """Click an object in the list, which shows the slice where it is largest."""
    item(page, number).locator("small").click()


def test_outlines_tell_what_was_decided(page: Any, marked_address: str) -> None:
    visit(page, marked_address)
    rows = [text.split("\n") for text in page.locator("#objects li").all_inner_texts()]
    assert [[part for part in row if part] for row in rows] == [
        ["1", "metal", "97 %, slices 2-3", "Drop"],
        ["2", "doubtful", "35 %, slices 1-2", "Keep"],
        ["3", "dropped", "61 %, slice 3", "Keep"],
    ]
    go(page, 2)
    until_shown(page, "slices/0/")  # no metal, but something doubtful
    for pane in range(3):
        yellow = ink(page, YELLOW, pane)
        rows_, columns = PLACES[2]
        corners = [
            value(page, f"window.acdnet.panes[{pane}].point({r} - 0.5, {c} - 0.5)")
            for r, c in ((rows_.start, columns.start), (rows_.stop, columns.stop))
        ]
        expected = corners[0][1], corners[1][1], corners[0][0], corners[1][0]
        assert np.allclose(bounds(yellow), expected, atol=2.5)
        first = bounds(yellow)[0]
        top = yellow[first : first + 2].any(0)
        assert 0.3 < top.sum() / np.ptp(np.flatnonzero(top)) < 0.8  # dashed
        assert not ink(page, CYAN, pane).any()
    page.keyboard.press("o")
    assert not ink(page, YELLOW).any()
    page.mouse.click(*at(page, 57, 29))
    assert page.locator("#objects li.pending").count() == 0  # what is hidden cannot be clicked
    page.keyboard.press("o")
    go(page, 3)
    until_shown(page, "slices/2/")
    assert ink(page, GREY).any()
    assert ink(page, CYAN).any()


def test_a_click_decides_and_another_takes_it_back(page: Any, marked_address: str) -> None:
    visit(page, marked_address)
    go(page, 2)
    until_shown(page, "slices/0/")
    thin = ink(page, YELLOW).sum()
    inside = at(page, 57, 29, pane=1)
    drag(page, *inside, inside[0] + 40, inside[1])
    drag(page, *inside, inside[0] - 40, inside[1])
    assert page.locator("#objects li.pending").count() == 0  # that changed the window
    page.keyboard.press("s")
    window = value(page, "window.acdnet.ranges.image")
    drag(page, *inside, inside[0] + 2, inside[1] - 1)
    assert value(page, "window.acdnet.ranges.image") == window
    assert item(page, 2).inner_text().split("\n")[1] == "will be kept"
    assert not ink(page, YELLOW).any()
    assert ink(page, CYAN).sum() > 2 * thin
    assert page.inner_text("#objects p") == "Repeat the reduction with\n--keep 2 --drop 3"
    assert page.locator(AGAIN).count() == 0  # the scan is not here
    edge = at(page, PLACES[2][0].start - 0.5, 29)
    page.mouse.click(edge[0], edge[1] - 2)  # on the outline
    assert page.locator("#objects li.pending").count() == 0
    assert ink(page, YELLOW).any()
    assert page.locator("#objects p").count() == 0
    page.mouse.click(*at(page, 5, 5))
    assert page.locator("#objects li.pending").count() == 0

    go(page, 1)
    until_shown(page, "slices/1/")
    page.keyboard.press("2")
    until(page, f"window.acdnet.view === 'swipe' && {READY}")
    page.mouse.click(*at(page, 49, 62))  # metal
    assert item(page, 1).inner_text().split("\n")[1] == "will be dropped"
    assert ink(page, GREY).any()
    item(page, 3).locator("button").click()
    assert page.inner_text("#objects p") == "Repeat the reduction with\n--keep 3 --drop 1"
    for number in (1, 3):
        assert item(page, number).locator("button").inner_text() == "Undo"
        item(page, number).locator("button").click()
    assert page.locator("#objects p").count() == 0


def test_a_scan_is_reduced_again(page: Any, marked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acdnet.viewer.queue.WORKER", (sys.executable, "-S", "-c", WORKER))
    with closing(Jobs(tmp_path / "jobs")) as jobs, serving(connection_limits(), jobs) as address:
        name = add(jobs, marked)
        page.goto(f"http://127.0.0.1:{address.port}/{TOKEN}/")
        page.click("tr >> text=Open")
        until(page, READY)
        go(page, 2)
        until_shown(page, "slices/0/")
        assert page.locator(AGAIN).is_disabled()
        item(page, 1).locator("button").click()
        page.click(AGAIN)  # the worker fails when it drops object 1
        until(page, "document.getElementById('error').textContent === 'not reduced again: no room'")
        assert page.locator(AGAIN).is_enabled()
        item(page, 1).locator("button").click()
        page.mouse.click(*at(page, 57, 29))
        page.click(AGAIN)
        until(page, f"window.acdnet.name === '{name}-1' && {READY}")
        assert value(page, "window.acdnet.number") == 0  # the slice that was shown
        assert item(page, 2).inner_text().split("\n")[1] == "kept"
        assert page.locator(AGAIN).is_disabled()
        assert [one["decision"] for one in report(jobs.result(name))["objects"]] == ["dropped", "kept", "dropped"]
        page.click("#home")
        page.click("tr >> text=Open")
        until(page, f"window.acdnet.name === '{name}-1' && {READY}")
        page.goto("about:blank")  # stops the requests for jobs
