"""Fixtures of the viewer tests: a browser page and a result."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reduction.make import run, series
from tests.viewer.browser import READY, ViewerProcess, until, until_shown

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the path of Chromium; install it if this is a Debian container run as root."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = shutil.which("chromium")
    if not found and shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            try:
                subprocess.run(["apt-get", *command], capture_output=True, timeout=180, check=False, env=environment)
            except subprocess.TimeoutExpired:
                pytest.skip("the installation of chromium timed out")
        found = shutil.which("chromium")
    if not found:
        pytest.skip("chromium is not installed (Debian package chromium)")
    return found


@pytest.fixture(scope="module")
def page(chromium: str) -> Iterator[Any]:
    """Open an empty page; errors in it fail the last test of the file."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        opened = browser.new_page(viewport={"width": 1280, "height": 800})
        problems: list[str] = []
        opened.on("pageerror", lambda error: problems.append(str(error)))
        opened.on("requestfailed", lambda request: problems.append(f"{request.url} {request.failure}"))
        yield opened
        browser.close()
        # requests of a page that was left are aborted
        assert [problem for problem in problems if not problem.endswith("ERR_ABORTED")] == []


@pytest.fixture(scope="session")
def reduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reduce a scan of four slices, the first without metal, with the default network."""
    folder = tmp_path_factory.mktemp("browser")
    assert run("reduce", series(folder / "scan", (False, True, True, True)), folder / "out").code == 0
    return folder / "out"


@pytest.fixture(scope="session")
def address(reduced: Path) -> Iterator[str]:
    """Start a viewer of the reduced scan, shared by all tests that only look at it."""
    with ViewerProcess("view", reduced) as started:
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
