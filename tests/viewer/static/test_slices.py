"""What the page shows while slices and results are still loading."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from tests.viewer.browser import READY, hold, marks, pixels, release, settle, until, until_shown, value, viewer, visit
from tests.viewer.server import store_results

NUMBER = "window.acdnet.number"


def test_images_keep_their_slice_number_until_the_next_has_loaded(page: Any, address: str) -> None:
    held = hold(page, re.compile("/slices/[03]/"))
    visit(page, address)
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
    assert np.array_equal(pixels(page, 0), before)  # still the old image
    assert all(text.startswith(f"slice {start + 1} of") for text in marks(page))
    release(page, held)
    until_shown(page, f"slices/{other}/")
    assert all(text.startswith(f"slice {other + 1} of") for text in marks(page))


def test_memory_is_bounded(opened: Any) -> None:
    most = value(opened, "import('./static/cornerstone.js').then(({ cache }) => cache.getMaxCacheSize())")
    assert most <= 2**28


def test_neighbouring_slices_are_loaded_with_their_overlays(page: Any, address: str) -> None:
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    visit(page, address)
    page.wait_for_timeout(1000)
    shown = value(page, NUMBER)
    for number in {max(1, shown - 1), min(3, shown + 1)}:
        for layer in ("before", "after", "difference", "metal", "expected_error_hu"):
            assert len([url for url in requested if url.endswith(f"slices/{number}/{layer}")]) == 1


def test_the_page_stays_where_it_was_until_a_result_has_opened(page: Any, reduced: Path, tmp_path: Path) -> None:
    with viewer("serve", "--folder", store_results(tmp_path / "jobs", reduced)) as address:
        page.goto(address)
        page.route("**/api/results/*", lambda route: route.fulfill(status=400, json={"error": "damaged result"}))
        page.click("tr[data-state=done] >> text=Open")
        until(page, "document.getElementById('error').textContent === 'damaged result'")
        assert page.is_visible("#drop")
        assert not page.is_visible("#viewer")
        page.unroute_all()

        held = hold(page, "**/slices/*/after")
        page.click("tr[data-state=done] >> text=Open")
        page.wait_for_selector("#home", state="visible")
        page.click("#home")  # before its first image has loaded
        release(page, held)
        page.wait_for_timeout(500)
        assert page.is_visible("#drop")
        assert not page.is_visible("#viewer")
        assert not page.is_visible("#windows")

        held = hold(page, "**/api/results/*")
        page.click("tr[data-state=done] >> text=Open")
        page.wait_for_timeout(100)
        page.evaluate("document.getElementById('home').click()")  # before the page has changed
        release(page, held)
        page.wait_for_timeout(500)
        assert page.is_visible("#drop")
        assert not page.is_visible("#viewer")
        page.click("tr[data-state=done] >> text=Open")
        until(page, READY)
        assert not page.is_visible("#drop")
        assert page.is_visible("#home")
        page.goto("about:blank")  # stops loading slices
