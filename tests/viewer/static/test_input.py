"""Mouse and keyboard in the page."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.reduction.make import report
from tests.viewer.browser import READY, until, until_shown, value, visit

NUMBER = "window.acdnet.number"
ZOOM = "window.acdnet.panes.map((pane) => pane.viewport.getZoom())"
FOCUS = "document.activeElement.tagName"
SHOWN = "window.acdnet.panes.map((pane) => pane.shown?.label).join()"


def press(page: Any, key: str, number: int) -> None:
    """Press a key that leads to a slice."""
    page.keyboard.press(key)
    until_shown(page, f"slices/{number}/")


def test_keys_act_after_menus_and_sliders_were_used(page: Any, address: str) -> None:
    visit(page, address)
    press(page, "Home", 0)
    menu = page.locator(".pane select").first
    menu.focus()
    press(page, "ArrowDown", 1)
    for key in ("a", "b"):  # the first letters of After and Before
        page.keyboard.press(key)
    assert menu.input_value() == "before"
    assert value(page, "window.acdnet.ranges.image.join()") == "-450,1050"

    menu.click()
    until(page, "document.querySelector('.pane select').matches(':open')")
    page.keyboard.press("ArrowDown")  # an open menu receives the keys
    page.keyboard.press("Enter")
    until(page, f"{SHOWN} === 'After,After,After - Before'")
    assert value(page, FOCUS) == "BODY"
    press(page, "ArrowDown", 2)
    assert menu.input_value() == "after"
    menu.focus()
    page.mouse.click(400, 420)
    assert value(page, FOCUS) == "BODY"

    page.keyboard.press("3")
    page.wait_for_selector("#stage-slider", timeout=60_000)
    until(page, f"window.acdnet.view === 'stages' && {READY}")
    page.click("#stage-slider", position={"x": 3, "y": 5})
    until_shown(page, "artifacts/0/0", pane=1)
    assert value(page, FOCUS) == "BODY"
    page.keyboard.press(".")
    until_shown(page, "artifacts/1/0", pane=1)
    page.locator("#stage-slider").focus()
    page.keyboard.press("ArrowLeft")
    until_shown(page, "slices/1/stages/")
    assert value(page, "window.acdnet.stages.t") == 2


def test_browser_shortcuts_still_work_and_zoom_is_limited(opened: Any) -> None:
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
        assert value(opened, "window.acdnet.panes[0].getCamera().parallelScale") == pytest.approx(end)


def test_wheels_of_mice_and_trackpads(opened: Any) -> None:
    opened.mouse.move(400, 420)
    for _ in range(3):
        opened.mouse.wheel(0, 1)
    opened.wait_for_timeout(300)
    assert value(opened, NUMBER) == 1  # three pixels are less than a notch
    for _ in range(6):
        opened.mouse.wheel(0, 10)
    until_shown(opened, "slices/2/")
    opened.mouse.wheel(0, -100)  # a notch is one slice, regardless of the remainder
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


def test_values_under_a_resting_pointer_follow_the_slice(opened: Any) -> None:
    x, y = value(opened, "window.acdnet.panes[0].point(50, 62)")  # metal from the second slice on
    box = opened.locator(".pane .image").first.bounding_box()
    opened.mouse.move(box["x"] + x, box["y"] + y)
    until(opened, "document.getElementById('values').textContent.includes('Before: 3071 HU')")
    opened.keyboard.press("Home")
    until_shown(opened, "slices/0/")
    opened.wait_for_timeout(200)
    assert "Before: 40 HU" in opened.inner_text("#values")


def test_changed_slices_are_visited_in_order_of_change(page: Any, address: str, reduced: Path) -> None:
    written = report(reduced)
    changes = [entry["mean_change_hu"] for entry in written["slices"]]
    ranked = sorted(range(1, 4), key=lambda n: (-changes[n], n))
    assert changes[0] == 0
    visit(page, address)
    assert page.get_attribute("#list-head [title]", "title").startswith("mean of |After - Before| over the body")
    press(page, "Home", 0)
    for number in [*ranked, *ranked]:
        press(page, "c", number)
    press(page, "c", ranked[0])
    assert value(page, "[...document.querySelectorAll('#slices li')].map((item) => item.dataset.number).join()") == (
        "0,1,2,3"
    )
    press(page, "Home", 0)
    press(page, "ArrowDown", 1)
