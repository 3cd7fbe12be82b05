"""What keys do after a menu was used, and what the page tells: which scan is open, and that the server is gone."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.browser import READY, Started, until, until_shown, value

FOCUS = "document.activeElement.tagName"
SHOWN = "window.acdnet.panes.map((pane) => pane.shown?.label).join()"
ERROR = "document.getElementById('error').textContent"


@pytest.fixture
def alone(page: Any) -> Iterator[Any]:
    """Open a page whose requests may fail."""
    opened = page.context.browser.new_page(viewport={"width": 1280, "height": 800})
    yield opened
    opened.close()


def press(page: Any, key: str, number: int) -> None:
    """Press a key that leads to a slice."""
    page.keyboard.press(key)
    until_shown(page, f"slices/{number}/")


def send(page: Any, address: str, reduced: Path, count: int, number: int = 1) -> None:
    """Drop some slices of a scan and wait until they are reduced, as the scan of this number."""
    page.goto(address)
    page.wait_for_selector("#drop")
    page.set_input_files("#pick-files", sorted((reduced.parent / "scan").iterdir())[:count])
    until(page, f"document.querySelectorAll('tr[data-state=done]').length === {number}", 120)


def test_keys_act_whatever_was_used_before(page: Any, reduced: Path) -> None:
    with Started("view", reduced) as address:
        page.goto(address)
        until(page, READY)
        press(page, "Home", 0)
        menu = page.locator(".pane select").first
        menu.focus()
        press(page, "ArrowDown", 1)
        for key in ("a", "b"):  # After and Before begin so
            page.keyboard.press(key)
        assert menu.input_value() == "before"
        assert value(page, "window.acdnet.ranges.image.join()") == "-450,1050"

        menu.click()
        until(page, "document.querySelector('.pane select').matches(':open')")
        page.keyboard.press("ArrowDown")  # an open menu keeps its keys
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
        until(page, f"window.acdnet.view === 'inside' && {READY}")
        page.click("#stage-slider", position={"x": 3, "y": 5})
        until_shown(page, "artifacts/0/0", pane=1)
        assert value(page, FOCUS) == "BODY"
        page.keyboard.press(".")
        until_shown(page, "artifacts/1/0", pane=1)
        page.locator("#stage-slider").focus()
        page.keyboard.press("ArrowLeft")
        until_shown(page, "slices/1/inside/")
        assert value(page, "window.acdnet.inside.t") == 2


def test_the_panel_of_the_stages_fits_narrow_windows(page: Any, reduced: Path) -> None:
    with Started("view", reduced) as address:
        page.goto(address)
        until(page, READY)
        page.keyboard.press("3")
        page.wait_for_selector("#stage-slider", timeout=60_000)
        try:
            for width in (1024, 800):
                page.set_viewport_size({"width": width, "height": 768})
                until(page, f"document.documentElement.scrollWidth === {width}")
                assert value(
                    page, "[document.getElementById('inside')].every((one) => one.scrollWidth <= one.clientWidth)"
                )
        finally:
            page.set_viewport_size({"width": 1280, "height": 800})


def test_slices_that_changed_are_found_in_their_order(page: Any, reduced: Path) -> None:
    report = json.loads((reduced / "report.json").read_text())
    changes = [entry["mean_change_hu"] for entry in report["slices"]]
    ranked = sorted(range(1, 4), key=lambda n: (-changes[n], n))
    assert changes[0] == 0
    with Started("view", reduced) as address:
        page.goto(address)
        until(page, READY)
        assert page.get_attribute("#told [title]", "title").startswith("mean of |After - Before| over the body")
        press(page, "Home", 0)
        for number in [*ranked, *ranked]:
            press(page, "c", number)
        press(page, "c", ranked[0])
        assert value(
            page, "[...document.querySelectorAll('#slices li')].map((item) => item.dataset.number).join()"
        ) == ("0,1,2,3")
        press(page, "Home", 0)
        press(page, "ArrowDown", 1)


def test_one_sees_which_scan_is_open(page: Any, reduced: Path, tmp_path: Path) -> None:
    with Started("serve", "--folder", tmp_path / "jobs") as address:
        for number, count in ((1, 2), (2, 3)):
            send(page, address, reduced, count, number)
        assert not page.is_visible("#help")  # there is nothing that keys would do
        time = r"\d+ [A-Z][a-z]+ \d\d:\d\d"
        for row, told in ((0, "Scan 2, 3 slices, "), (1, "Scan 1, 2 slices, ")):
            assert re.search(rf"files, {time}", page.locator("#jobs tr").nth(row).inner_text())
            page.locator("#jobs tr").nth(row).locator("text=Look").click()
            until(page, READY)
            title = page.inner_text("#title")
            assert re.fullmatch(told + time, title)
            assert page.title() == f"{title} - ACDNet viewer"
            assert page.is_visible("#help")
            assert page.locator("header").bounding_box()["height"] < 50  # all in one line
            page.click("#home")
            until(page, "document.title === 'ACDNet viewer'")
        page.goto("about:blank")  # which does not ask for jobs


def test_a_scan_that_was_deleted_elsewhere(alone: Any, reduced: Path, tmp_path: Path) -> None:
    with Started("serve", "--folder", tmp_path / "jobs") as address:
        send(alone, address, reduced, 3)
        alone.click("tr >> text=Look")
        until(alone, READY)
        name = value(alone, "window.acdnet.name")
        urllib.request.urlopen(urllib.request.Request(f"{address}api/jobs/{name}", method="DELETE")).close()
        alone.keyboard.press("3")
        until(alone, f"{ERROR} === 'This scan was deleted.'")
        assert alone.inner_text("#inside") == "This scan was deleted."
        alone.keyboard.press("1")
        alone.wait_for_timeout(9000)
        assert alone.is_visible("#error")  # it is not told for a while only
        alone.click("#home")
        assert not alone.is_visible("#error")


def test_a_server_that_has_stopped(alone: Any, reduced: Path, tmp_path: Path) -> None:
    server = Started("serve", "--folder", tmp_path / "jobs")
    with server:
        alone.goto(server.address)
        alone.set_input_files("#pick-files", sorted((reduced.parent / "scan").iterdir()))
        alone.wait_for_selector("#jobs progress", timeout=60_000)
    said = "The server has stopped. Start acdnet serve again and open the new address; scans are kept."
    until(alone, f"{ERROR} === {json.dumps(said)}")
    until(alone, "!document.querySelector('#jobs progress')")  # drawn with the next look at the server
    assert "waits for the server" in alone.inner_text("#jobs")
    alone.wait_for_timeout(9000)
    assert alone.is_visible("#error")

    with Started("view", reduced) as address:
        alone.route("**/slices/0/*", lambda route: route.abort())
        alone.goto(address)
        until(alone, READY)
        alone.keyboard.press("Home")
        until(alone, f"{ERROR} === 'the server did not answer; try again'")  # it is there
    said = "The server has stopped. Start acdnet view again and open the new address."
    alone.keyboard.press("End")
    alone.keyboard.press("3")  # of which nothing was loaded ahead
    until(alone, f"{ERROR} === {json.dumps(said)}")
