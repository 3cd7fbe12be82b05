"""What the page shows while something is late, refused or pressed at the wrong moment."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.viewer.browser import READY, Started, marks, pixels, settle, until, until_shown, value

NUMBER = "window.acdnet.number"
ZOOM = "window.acdnet.panes.map((pane) => pane.viewport.getZoom())"
REASON = "the guard let this slice pass as it came"


@pytest.fixture(scope="module")
def address(reduced: Path) -> Iterator[str]:
    with Started("view", reduced) as started:
        yield started


@pytest.fixture
def opened(page: Any, address: str) -> Iterator[Any]:
    """Open the result at its second slice."""
    page.goto(address)
    until(page, READY)
    page.keyboard.press("Home")
    until_shown(page, "slices/0/")
    page.keyboard.press("ArrowDown")
    until_shown(page, "slices/1/")
    yield page
    page.unroute_all()


def hold(page: Any, pattern: str) -> list[Any]:
    """Let requests wait until `release` is called; return them as they come."""
    held: list[Any] = []
    page.route(pattern, lambda route: held.append(route))
    return held


def release(page: Any, held: list[Any]) -> None:
    while held:
        held.pop().continue_()
    page.unroute_all()


def inside(page: Any) -> None:
    page.keyboard.press("3")
    page.wait_for_selector("#stage-slider", timeout=60_000)
    until(page, f"window.acdnet.view === 'inside' && {READY}")
    page.wait_for_timeout(300)


def test_a_picture_keeps_its_number_until_the_next_is_there(page: Any, address: str) -> None:
    held: list[Any] = []
    page.route("**/slices/3/*", lambda route: held.append(route))
    page.route("**/slices/0/*", lambda route: held.append(route))
    page.goto(address)
    until(page, READY)
    start = value(page, NUMBER)
    other = 0 if start else 3
    page.mouse.move(400, 420)
    before = pixels(page, 0)
    page.keyboard.press("Home" if other == 0 else "End")
    assert value(page, NUMBER) == other
    for key in ("b", "s", "m", "e", "+", "-", "m", "e"):
        page.keyboard.press(key)
    page.keyboard.press("0")
    settle(page)
    assert np.array_equal(pixels(page, 0), before)  # it is still the old picture
    assert all(text.startswith(f"slice {start + 1} of") for text in marks(page))
    release(page, held)
    until_shown(page, f"slices/{other}/")
    assert all(text.startswith(f"slice {other + 1} of") for text in marks(page))


def test_values_under_a_pointer_that_rests_are_those_of_the_new_slice(opened: Any) -> None:
    x, y = value(opened, "window.acdnet.panes[0].point(50, 62)")  # metal from the second slice on
    box = opened.locator(".pane .image").first.bounding_box()
    opened.mouse.move(box["x"] + x, box["y"] + y)
    until(opened, "document.getElementById('values').textContent.includes('Before: 3071 HU')")
    opened.keyboard.press("Home")
    until_shown(opened, "slices/0/")
    opened.wait_for_timeout(200)
    assert "Before: 40 HU" in opened.inner_text("#values")


def test_inside_is_empty_while_another_slice_is_computed(opened: Any) -> None:
    inside(opened)
    opened.keyboard.press("+")
    zoom = value(opened, ZOOM)
    height = opened.locator("#panes").bounding_box()["height"]
    held = hold(opened, "**/inside/about")
    opened.mouse.move(500, 250)
    assert opened.inner_text("#values")
    opened.keyboard.press("ArrowDown")
    settle(opened)
    assert not any(opened.locator(".pane .image").nth(k).is_visible() for k in range(3))
    assert not opened.locator(".pane .label").first.is_visible()
    assert opened.inner_text("#values") == opened.inner_text("#place") == ""
    assert opened.locator("#stage-slider").count() == 0
    assert opened.locator("#panes").bounding_box()["height"] == pytest.approx(height, abs=1)  # nothing jumps
    opened.keyboard.press("b")
    assert marks(opened) == ["", "", ""]
    for _ in range(100):
        if held:
            break
        opened.wait_for_timeout(50)
    release(opened, held)
    until_shown(opened, "slices/2/inside/")
    opened.wait_for_timeout(300)
    assert value(opened, ZOOM) == pytest.approx(zoom, rel=0.01)
    assert all(text.startswith("slice 3 of") for text in marks(opened))


def test_inside_says_why_there_are_no_stages(opened: Any) -> None:
    inside(opened)
    opened.keyboard.press("+")
    zoom = value(opened, ZOOM)
    opened.mouse.move(500, 250)
    assert opened.inner_text("#values")
    opened.keyboard.press("Home")
    until(opened, f"{NUMBER} === 0")
    settle(opened)
    assert opened.inner_text("#inside") == "Slice 1 has no metal; the network did not see it."
    assert opened.locator("#inside canvas").count() == 0
    assert not opened.locator(".pane .image").first.is_visible()
    assert opened.inner_text("#values") == opened.inner_text("#place") == ""

    opened.route("**/slices/2/inside/about", lambda route: route.fulfill(status=400, json={"error": REASON}))
    opened.keyboard.press("PageDown")  # to the last slice
    until_shown(opened, "slices/3/inside/")
    opened.keyboard.press("ArrowUp")
    until(opened, f"document.getElementById('inside').textContent === {json.dumps(REASON)}")
    assert not opened.locator(".pane .image").first.is_visible()
    opened.keyboard.press("ArrowUp")
    until_shown(opened, "slices/1/inside/")
    opened.wait_for_timeout(300)
    assert value(opened, ZOOM) == pytest.approx(zoom, rel=0.01)  # what was looked at is where it was
    opened.keyboard.press("Home")
    opened.keyboard.press("1")
    until_shown(opened, "slices/0/")


def test_a_map_has_its_own_window_and_scale(opened: Any) -> None:
    inside(opened)
    for n in range(1, 7):  # a network may leave some of its maps empty
        opened.click(f"#inside button[title='show map {n}']")
        until_shown(opened, "/maps/", pane=2)
        settle(opened)
        if len(np.unique(pixels(opened, 2)[..., 0])) > 2:
            break
    images, residual = pixels(opened, 0), value(opened, "window.acdnet.ranges.difference.join()")
    dark, said = pixels(opened, 2), marks(opened)
    box = opened.locator(".pane").nth(2).bounding_box()
    opened.mouse.move(box["x"] + 100, box["y"] + 100)
    opened.mouse.down()
    opened.mouse.move(box["x"] + 20, box["y"] + 100, steps=3)
    opened.mouse.up()
    assert value(opened, "window.acdnet.ranges.image.join()") == "-160,240"
    assert value(opened, "window.acdnet.ranges.difference.join()") == residual
    assert np.array_equal(pixels(opened, 0), images)
    assert not np.array_equal(pixels(opened, 2), dark)
    assert marks(opened)[:2] == said[:2]
    assert marks(opened)[2] != said[2]
    opened.keyboard.press("0")
    assert marks(opened)[2] == said[2]

    opened.keyboard.down("Shift")
    opened.mouse.move(box["x"] + 100, box["y"] + 100)
    opened.mouse.down()
    opened.mouse.move(box["x"] + 200, box["y"] + 140, steps=3)
    texts = "CanvasRenderingContext2D.prototype"
    value(opened, f"{{ window.told = []; const old = {texts}.fillText; {texts}.fillText = function (text, ...place) "
          "{ window.told.push(text); old.call(this, text, ...place); } }")  # fmt: skip
    opened.mouse.up()
    opened.keyboard.up("Shift")
    settle(opened)
    told = value(opened, "window.told")
    assert any(text.startswith("on a scale of its own, ") for text in told)
    assert len([text for text in set(told) if text.endswith(" HU")]) >= 3


def test_wheels_of_trackpads_and_mice(opened: Any) -> None:
    opened.mouse.move(400, 420)
    for _ in range(3):
        opened.mouse.wheel(0, 1)
    opened.wait_for_timeout(300)
    assert value(opened, NUMBER) == 1  # three pixels are no slice
    for _ in range(6):
        opened.mouse.wheel(0, 10)
    until_shown(opened, "slices/2/")
    opened.mouse.wheel(0, -100)  # a notch is one slice, whatever was left over
    until_shown(opened, "slices/1/")
    opened.wait_for_timeout(200)
    assert value(opened, NUMBER) == 1
    zoom = value(opened, ZOOM)
    opened.keyboard.down("Control")
    opened.mouse.wheel(0, -60)
    opened.keyboard.up("Control")
    opened.wait_for_timeout(200)
    assert value(opened, NUMBER) == 1
    assert value(opened, ZOOM) == pytest.approx([one * np.exp(60 / 200) for one in zoom], rel=0.02)


def test_keys_leave_the_browser_its_own_and_zoom_has_an_end(opened: Any) -> None:
    taken = """(init) => {
      const event = new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...init });
      document.body.dispatchEvent(event);
      return event.defaultPrevented;
    }"""
    assert not opened.evaluate(taken, {"key": "ArrowLeft", "altKey": True})
    assert value(opened, NUMBER) == 1
    assert opened.evaluate(taken, {"key": "ArrowLeft"})
    until_shown(opened, "slices/0/")
    for key, end in (("+", 4), ("-", 2000)):
        for _ in range(60):
            opened.keyboard.press(key)
        assert value(opened, "window.acdnet.panes[0].camera().parallelScale") == pytest.approx(end)


def test_memory_is_bounded(opened: Any) -> None:
    most = value(opened, "import('./static/cornerstone.js').then(({ cache }) => cache.getMaxCacheSize())")
    assert most <= 2**28


def test_neighbours_are_loaded_with_their_maps(page: Any, address: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    until(page, READY)
    page.wait_for_timeout(1000)
    shown = value(page, NUMBER)
    for number in {max(1, shown - 1), min(3, shown + 1)}:
        for layer in ("before", "after", "difference", "metal", "doubt"):
            assert len([url for url in asked if url.endswith(f"slices/{number}/{layer}")]) == 1


def test_a_result_that_does_not_open_leaves_the_page_where_it_was(page: Any, reduced: Path, tmp_path: Path) -> None:
    files = sorted((reduced.parent / "scan").iterdir())[:2]
    with Started("serve", "--folder", tmp_path / "jobs") as address:
        page.goto(address)
        page.set_input_files("#pick-files", files)
        page.wait_for_selector("tr[data-state=done]", timeout=120_000)
        page.route("**/api/results/*", lambda route: route.fulfill(status=400, json={"error": "it is broken"}))
        page.click("tr[data-state=done] >> text=Look")
        until(page, "document.getElementById('error').textContent === 'it is broken'")
        assert page.is_visible("#drop")
        assert not page.is_visible("#viewer")
        page.unroute_all()

        held = hold(page, "**/slices/*/after")
        page.click("tr[data-state=done] >> text=Look")
        page.wait_for_selector("#home", state="visible")
        page.click("#home")  # before its first picture is there
        release(page, held)
        page.wait_for_timeout(500)
        assert page.is_visible("#drop")
        assert not page.is_visible("#viewer")
        assert not page.is_visible("#windows")

        held = hold(page, "**/api/results/*")
        page.click("tr[data-state=done] >> text=Look")
        page.wait_for_timeout(100)
        page.evaluate("document.getElementById('home').click()")  # before the page has changed
        release(page, held)
        page.wait_for_timeout(500)
        assert page.is_visible("#drop")
        assert not page.is_visible("#viewer")
        page.click("tr[data-state=done] >> text=Look")
        until(page, READY)
        assert not page.is_visible("#drop")
        assert page.is_visible("#home")


def test_what_cannot_be_dropped_is_told(page: Any, tmp_path: Path) -> None:
    with Started("serve", "--folder", tmp_path / "jobs") as address:
        page.goto(address)
        page.wait_for_selector("#drop")
        page.evaluate("""() => {
          const entry = { isFile: true, file: (_, failed) => failed(new Error("the file went away")) };
          const event = new Event("drop", { cancelable: true });
          event.dataTransfer = { items: [{ webkitGetAsEntry: () => entry }], files: [] };
          document.getElementById("drop").dispatchEvent(event);
        }""")
        until(page, "document.getElementById('error').textContent === 'the file went away'")
        page.goto("about:blank")  # which does not ask for jobs
