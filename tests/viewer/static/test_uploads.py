"""What the page reports: which scan is open, and scans, files and servers that are gone."""

import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reduction.make import run, series
from tests.viewer.browser import READY, until, value, viewer, visit
from tests.viewer.server import store_results

AFTER_MESSAGES = 9000
"""Time in ms after which temporary messages are gone."""
ERROR = "document.getElementById('error').textContent"


@pytest.fixture
def alone(page: Any) -> Iterator[Any]:
    """Open a page whose requests may fail."""
    opened = page.context.browser.new_page(viewport={"width": 1280, "height": 800})
    opened.clock.install()
    yield opened
    opened.close()


def test_the_open_scan_is_named(page: Any, reduced: Path, tmp_path: Path) -> None:
    scan, small = series(tmp_path / "scan", (False, True)), tmp_path / "small"
    assert run("reduce", scan, small, "--method", "li").code == 0
    with viewer("serve", "--folder", store_results(tmp_path / "jobs", small, reduced)) as address:
        page.goto(address)
        until(page, "document.querySelectorAll('#jobs tr').length === 2")
        assert not page.is_visible("#help")  # there are no shortcuts for the list of scans
        time = r"\d+ [A-Z][a-z]+ \d\d:\d\d"
        for row, start in ((0, "Scan 2, 4 slices, "), (1, "Scan 1, 2 slices, ")):
            assert re.search(rf"1 file, {time}", page.locator("#jobs tr").nth(row).inner_text())
            page.locator("#jobs tr").nth(row).locator("text=Open").click()
            until(page, READY)
            title = page.inner_text("#title")
            assert re.fullmatch(start + time, title)
            assert page.title() == f"{title} - ACDNet viewer"
            assert page.is_visible("#help")
            assert page.locator("header").bounding_box()["height"] < 50  # all in one line
            page.click("#home")
            until(page, "document.title === 'ACDNet viewer'")
        page.goto("about:blank")  # stops the requests for jobs


def test_a_scan_that_was_deleted_elsewhere(alone: Any, reduced: Path, tmp_path: Path) -> None:
    with viewer("serve", "--folder", store_results(tmp_path / "jobs", reduced)) as address:
        alone.goto(address)
        alone.click("tr >> text=Open")
        until(alone, READY)
        name = value(alone, "window.acdnet.name")
        urllib.request.urlopen(urllib.request.Request(f"{address}api/jobs/{name}", method="DELETE")).close()
        alone.keyboard.press("3")
        until(alone, f"{ERROR} === 'This scan was deleted.'")
        assert alone.inner_text("#stages") == "This scan was deleted."
        alone.keyboard.press("1")
        alone.clock.fast_forward(AFTER_MESSAGES)
        assert alone.is_visible("#error")  # permanent
        alone.click("#home")
        assert not alone.is_visible("#error")


def test_a_server_that_has_stopped(alone: Any, reduced: Path, tmp_path: Path) -> None:
    with viewer("serve", "--folder", tmp_path / "jobs") as address:
        alone.goto(address)
        alone.set_input_files("#pick-files", sorted((reduced.parent / "scan").iterdir()))
        alone.wait_for_selector("#jobs progress", timeout=60_000)
    message = "The server has stopped. Run acdnet serve again and open the new address. Your scans are kept."
    until(alone, f"{ERROR} === {json.dumps(message)}")
    until(alone, "!document.querySelector('#jobs progress')")
    assert "waiting for the server" in alone.inner_text("#jobs")
    alone.clock.fast_forward(AFTER_MESSAGES)
    assert alone.is_visible("#error")


def test_a_viewer_that_has_stopped(alone: Any, reduced: Path) -> None:
    with viewer("view", reduced) as address:
        alone.route("**/slices/0/*", lambda route: route.abort())
        visit(alone, address)
        alone.keyboard.press("Home")
        until(alone, f"{ERROR} === 'The server did not answer. Try again.'")  # it is still running
        alone.clock.fast_forward(AFTER_MESSAGES)
        assert not alone.is_visible("#error")  # temporary
    message = "The server has stopped. Run acdnet view again and open the new address."
    alone.keyboard.press("End")
    alone.keyboard.press("3")  # stages are not loaded in advance
    until(alone, f"{ERROR} === {json.dumps(message)}")


def test_an_unreadable_file_is_reported(page: Any, tmp_path: Path) -> None:
    with viewer("serve", "--folder", tmp_path / "jobs") as address:
        page.goto(address)
        page.wait_for_selector("#drop")
        page.evaluate("""() => {
          const entry = { isFile: true, file: (_, failed) => failed(new Error("the file went away")) };
          const event = new Event("drop", { cancelable: true });
          event.dataTransfer = { items: [{ webkitGetAsEntry: () => entry }], files: [] };
          document.getElementById("drop").dispatchEvent(event);
        }""")
        until(page, "document.getElementById('error').textContent === 'the file went away'")
        page.goto("about:blank")  # stops the requests for jobs
