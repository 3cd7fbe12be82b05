"""Fixtures of the viewer tests: a browser page and a result."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acdnet.viewer.jobs import Jobs
from tests.helpers import install
from tests.reduction.make import run, series
from tests.viewer.browser import READY, until, until_shown, viewer

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]


METAL = (False, True, True, True)
"""Which slices of the reduced scan contain metal."""


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the path of Chromium."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    return install("chromium", "chromium")


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
    folder = tmp_path_factory.mktemp("reduced")
    assert run("reduce", series(folder / "scan", METAL), folder / "out").code == 0
    return folder / "out"


@pytest.fixture(scope="session")
def reduced_by_li(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reduce a scan of three slices, the first without metal, by LI."""
    folder = tmp_path_factory.mktemp("reduced-by-li")
    assert run("reduce", series(folder / "scan"), folder / "out", "--method", "li").code == 0
    return folder / "out"


@pytest.fixture(scope="session")
def evaluated(sinogram_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Evaluate the input and LI."""
    out = tmp_path_factory.mktemp("evaluated") / "out"
    assert run("evaluate", sinogram_store, "--out", out, "--methods", "input,li", "--lesions", 0).code == 0
    return out


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    """Open a folder of jobs without starting the queue."""
    opened = Jobs(tmp_path / "jobs", start=False)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def address(reduced: Path) -> Iterator[str]:
    """Start a viewer of the reduced scan, shared by all tests that only look at it."""
    with viewer("view", reduced) as started:
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
