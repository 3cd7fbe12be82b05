"""The network stages in the page: loading, refused slices, and windows of their own."""

import json
from typing import Any

import numpy as np
import pytest

from tests.viewer.browser import drag, hold, marks, open_stages, pixels, release, settle, until, until_shown, value

NUMBER = "window.acdnet.number"
ZOOM = "window.acdnet.panes.map((pane) => pane.viewport.getZoom())"
REASON = "the guard refused the result for this slice"


def test_stages_are_empty_while_another_slice_is_computed(opened: Any) -> None:
    open_stages(opened)
    opened.keyboard.press("+")
    zoom = value(opened, ZOOM)
    height = opened.locator("#panes").bounding_box()["height"]
    held = hold(opened, "**/stages/about")
    opened.mouse.move(500, 250)
    assert opened.inner_text("#values")
    opened.keyboard.press("ArrowDown")
    settle(opened)
    assert not any(opened.locator(".pane .image").nth(k).is_visible() for k in range(3))
    assert not opened.locator(".pane .label").first.is_visible()
    assert opened.inner_text("#values") == opened.inner_text("#position") == ""
    assert opened.locator("#stage-slider").count() == 0
    assert opened.locator("#panes").bounding_box()["height"] == pytest.approx(height, abs=1)  # nothing jumps
    opened.keyboard.press("b")
    assert marks(opened) == ["", "", ""]
    for _ in range(100):
        if held:
            break
        opened.wait_for_timeout(50)
    release(opened, held)
    until_shown(opened, "slices/2/stages/")
    opened.wait_for_timeout(300)
    assert value(opened, ZOOM) == pytest.approx(zoom, rel=0.01)
    assert all(text.startswith("slice 3 of") for text in marks(opened))


def test_slices_without_stages_show_the_reason(opened: Any) -> None:
    open_stages(opened)
    opened.keyboard.press("+")
    zoom = value(opened, ZOOM)
    opened.mouse.move(500, 250)
    assert opened.inner_text("#values")
    opened.keyboard.press("Home")
    until(opened, f"{NUMBER} === 0")
    settle(opened)
    assert opened.inner_text("#stages") == "Slice 1 has no metal, so the network did not process it."
    assert opened.locator("#stages canvas").count() == 0
    assert not opened.locator(".pane .image").first.is_visible()
    assert opened.inner_text("#values") == opened.inner_text("#position") == ""

    opened.route("**/slices/2/stages/about", lambda route: route.fulfill(status=400, json={"error": REASON}))
    opened.keyboard.press("PageDown")  # to the last slice
    until_shown(opened, "slices/3/stages/")
    opened.keyboard.press("ArrowUp")
    until(opened, f"document.getElementById('stages').textContent === {json.dumps(REASON)}")
    assert not opened.locator(".pane .image").first.is_visible()
    opened.keyboard.press("ArrowUp")
    until_shown(opened, "slices/1/stages/")
    opened.wait_for_timeout(300)
    assert value(opened, ZOOM) == pytest.approx(zoom, rel=0.01)  # what was looked at is where it was
    opened.keyboard.press("Home")
    opened.keyboard.press("1")
    until_shown(opened, "slices/0/")


def test_maps_have_their_own_window_and_scale(opened: Any) -> None:
    open_stages(opened)
    for n in range(1, 7):  # a network may leave some of its maps empty
        opened.click(f"#stages button[title='Show map {n}']")
        until_shown(opened, "/maps/", pane=2)
        settle(opened)
        if len(np.unique(pixels(opened, 2)[..., 0])) > 2:
            break
    images, residual = pixels(opened, 0), value(opened, "window.acdnet.ranges.difference.join()")
    dark, said = pixels(opened, 2), marks(opened)
    box = opened.locator(".pane").nth(2).bounding_box()
    drag(opened, box["x"] + 100, box["y"] + 100, box["x"] + 20, box["y"] + 100, steps=3)
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
    canvas = "CanvasRenderingContext2D.prototype"
    value(opened, f"{{ window.texts = []; const old = {canvas}.fillText; {canvas}.fillText = function (text, ...place) "
          "{ window.texts.push(text); old.call(this, text, ...place); } }")  # fmt: skip
    opened.mouse.up()
    opened.keyboard.up("Shift")
    settle(opened)
    texts = value(opened, "window.texts")
    assert any(text.startswith("own scale: ") for text in texts)
    assert len([text for text in set(texts) if text.endswith(" HU")]) >= 3


def test_the_panel_of_the_stages_fits_narrow_windows(opened: Any) -> None:
    open_stages(opened)
    try:
        for width in (1024, 800):
            opened.set_viewport_size({"width": width, "height": 768})
            until(opened, f"document.documentElement.scrollWidth === {width}")
            assert value(
                opened, "[document.getElementById('stages')].every((one) => one.scrollWidth <= one.clientWidth)"
            )
    finally:
        opened.set_viewport_size({"width": 1280, "height": 800})
