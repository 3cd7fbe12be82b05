"""The page in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest

from acdnet.viewer.app import NOTICE
from acdnet.viewer.result import open_result
from tests.reduction.make import run, series
from tests.train.make import small_store

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
BRIGHT = """([x, y]) => {
  const canvas = window.acdnet.panes[0].element.querySelector("canvas");
  const scale = canvas.width / canvas.clientWidth;
  return canvas.getContext("2d").getImageData(Math.floor(x * scale), Math.floor(y * scale), 1, 1).data[0];
}"""
READY = "window.acdnet?.panes?.length && window.acdnet.panes.every((pane) => pane.shown)"


@pytest.fixture(scope="session")
def chromium() -> str:
    """Find Chromium, or install it where that is allowed."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = shutil.which("chromium")
    if not found and shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            try:
                subprocess.run(["apt-get", *command], capture_output=True, timeout=180, check=False, env=environment)
            except subprocess.TimeoutExpired:
                pytest.skip("installing chromium takes too long here")
        found = shutil.which("chromium")
    if not found:
        pytest.skip("chromium is not here and cannot be installed (Debian's package chromium has it)")
    return found


@pytest.fixture(scope="module")
def page(chromium: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        opened = browser.new_page(viewport={"width": 1280, "height": 800})
        problems: list[str] = []
        opened.on("pageerror", lambda error: problems.append(str(error)))
        opened.on("requestfailed", lambda request: problems.append(request.url))
        yield opened
        browser.close()
        assert [problem for problem in problems if not problem.endswith("/download")] == []  # one leaves the page


class Started:
    """The viewer in a process of its own."""

    def __init__(self, *arguments: object) -> None:
        command = [sys.executable, "-m", "acdnet", *(str(argument) for argument in arguments), "--no-browser"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        found = re.search(r"http\S+", self.process.stdout.readline())
        assert found
        self.address = found[0]

    def __enter__(self) -> str:
        return self.address

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.__exit__(None, None, None)


@pytest.fixture(scope="module")
def reduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    assert run("reduce", series(folder / "scan", (False, True, True, True)), folder / "out").code == 0
    return folder / "out"


def value(page: Any, script: str) -> Any:
    return page.evaluate(f"() => {script}")


def until(page: Any, script: str, seconds: float = 30.0) -> None:
    """Wait until something is true. Playwright's own way needs eval in the page, which the page forbids."""
    end = time.monotonic() + seconds
    while not value(page, script):
        assert time.monotonic() < end, f"not true after {seconds} s: {script}"
        page.wait_for_timeout(50)


def test_a_result_is_looked_at(page: Any, reduced: Path) -> None:
    result = open_result(reduced)
    with Started("view", reduced) as address:
        page.goto(address)
        until(page, READY)
        assert page.inner_text("#notice") == NOTICE
        assert page.is_visible("#notice")
        assert value(page, "document.documentElement.scrollWidth <= 1280")
        number = value(page, "window.acdnet.number")  # it opens where most was changed
        changes = [entry["mean_change_hu"] for entry in result.describe()["slices"]]
        assert changes[number] == max(changes)

        page.mouse.move(600, 400)
        page.keyboard.press("Home")
        until(page, "window.acdnet.panes[0].path.includes('slices/0/')")
        page.mouse.wheel(0, 100)
        until(page, f"{READY} && window.acdnet.panes[1].image && window.acdnet.number === 1")
        until(page, "window.acdnet.panes[1].path.includes('slices/1/')")
        page.wait_for_timeout(300)
        row, column = 48, 40
        shown = [value(page, f"window.acdnet.panes[{k}].value({row}, {column})") for k in range(3)]
        assert shown == [round(float(result.image(1, name)[row, column])) for name in ("before", "after", "difference")]

        page.keyboard.press("w")
        metal = result.metal(1)
        assert metal is not None
        rows, columns = np.nonzero(metal)
        for edge_row, edge_column in ((rows.min(), columns[rows.argmin()]), (rows.max(), columns[rows.argmax()])):
            box = page.locator(".pane .image").first.bounding_box()
            x, y = value(page, f"window.acdnet.panes[0].point({edge_row}, {edge_column})")
            page.mouse.move(box["x"] + x, box["y"] + y)
            until(page, f"document.getElementById('place').textContent === 'row {edge_row}, column {edge_column}'")
            assert "Before: 3071 HU" in page.inner_text("#values")
            assert page.evaluate(BRIGHT, [x, y]) > 190  # and that is where it is bright
        page.keyboard.press("s")

        before = page.locator(".pane").first.screenshot()
        page.click("button[data-window=bone]")
        page.wait_for_timeout(200)
        assert value(page, "window.acdnet.range.join()") == "-450,1050"
        assert page.locator(".pane").first.screenshot() != before
        page.mouse.move(400, 400)
        page.mouse.down()
        page.mouse.move(460, 430)
        page.mouse.up()
        assert value(page, "window.acdnet.range.join()") != "-450,1050"
        page.keyboard.press("s")

        page.mouse.move(330, 400)
        assert "HU" in page.inner_text("#values")
        page.keyboard.down("Shift")
        page.mouse.down()
        page.mouse.move(430, 420)
        page.mouse.up()
        page.keyboard.up("Shift")
        assert page.is_visible("#profile")
        page.keyboard.press("Escape")
        assert not page.is_visible("#profile")

        page.wait_for_timeout(300)
        zoom = value(page, "window.acdnet.panes.map((pane) => pane.viewport.getZoom())")
        page.keyboard.press("+")
        larger = value(page, "window.acdnet.panes.map((pane) => pane.viewport.getZoom())")
        assert larger == pytest.approx([1.25 * one for one in zoom], rel=0.02)  # all panes together
        place = value(page, "window.acdnet.panes.map((pane) => pane.point(40, 40))")
        page.mouse.move(400, 300)
        page.mouse.down(button="middle")
        page.mouse.move(430, 280)
        page.mouse.up(button="middle")
        moved = value(page, "window.acdnet.panes.map((pane) => pane.point(40, 40))")
        assert np.allclose(np.subtract(moved, place), (30, -20), atol=1)
        page.keyboard.press("ArrowDown")
        until(page, "window.acdnet.panes[2].path.includes('slices/2/')")
        page.wait_for_timeout(300)
        assert np.allclose(value(page, "window.acdnet.panes.map((pane) => pane.point(40, 40))"), moved, atol=0.5)


def test_swipe_and_stages(page: Any, reduced: Path) -> None:
    with Started("view", reduced) as address:
        page.goto(address)
        until(page, READY)
        page.keyboard.press("2")
        until(page, f"window.acdnet.view === 'swipe' && {READY}")
        bar = page.locator("#swipe-bar").bounding_box()
        page.mouse.move(bar["x"] + 7, bar["y"] + 300)
        page.mouse.down()
        page.mouse.move(bar["x"] - 200, bar["y"] + 300)
        page.mouse.up()
        assert value(page, "window.acdnet.share") < 0.45
        assert "inset" in value(page, "window.acdnet.panes[1].box.style.clipPath")

        asked: list[str] = []

        def busy_at_first(route: Any) -> None:
            asked.append(route.request.url)
            route.fulfill(status=503, json={"error": "busy"}) if len(asked) < 3 else route.continue_()

        page.route("**/inside/about", busy_at_first)
        page.keyboard.press("3")
        page.wait_for_selector("#stage-slider", timeout=60_000)
        assert len(asked) == 3  # it asks again by itself
        assert not page.is_visible("#error")
        until(page, READY)
        stages = value(page, "window.acdnet.inside.about.stages")
        assert f"stage {stages} of {stages}" in page.inner_text("#panes")
        page.locator("#stage-slider").evaluate(
            "(slider) => { slider.value = 1; slider.dispatchEvent(new Event('input')); }"
        )
        until(page, "window.acdnet.panes[1].path.endsWith('artifacts/0/0')")
        page.click("#inside button[title='show map 2']")
        until(page, "window.acdnet.panes[2].path.endsWith('maps/0/1')")
        assert value(page, "document.querySelector('#panes .pane:nth-child(3) .marks').textContent.includes('0 to ')")
        slider = page.locator("#stage-slider").bounding_box()
        y = slider["y"] + slider["height"] / 2
        page.mouse.move(slider["x"] + 8, y)
        page.mouse.down()
        for step in range(1, 9):  # the slider stays under the hand that moves it
            page.mouse.move(slider["x"] + 8 + step * (slider["width"] - 16) / 8, y)
            page.wait_for_timeout(60)
        page.mouse.up()
        assert value(page, "window.acdnet.inside.t") == stages
        until(page, f"window.acdnet.panes[1].path.endsWith('artifacts/{stages - 1}/0')")
        assert page.locator("#inside canvas").count() >= 32  # the dictionary, and the kernels of this slice
        assert page.is_visible("#notice")


def test_marks_and_dark_images(page: Any, tmp_path: Path) -> None:
    grey = {}
    for kind in ("MONOCHROME2", "MONOCHROME1"):
        scan = series(tmp_path / kind, (True,), PhotometricInterpretation=kind)
        assert run("reduce", scan, tmp_path / f"{kind}-out", "--method", "li").code == 0
        with Started("view", tmp_path / f"{kind}-out") as address:
            page.goto(address)
            until(page, READY)
            page.wait_for_timeout(300)
            edges = "[...document.querySelectorAll('.pane:first-child .edge')].map((edge) => edge.textContent).join('')"
            assert value(page, edges) == "ALPR"
            at = [value(page, f"window.acdnet.panes[{k}].point(50, 50)") for k in (0, 2)]
            grey[kind] = [page.evaluate(BRIGHT.replace("panes[0]", f"panes[{k}]"), at[n]) for n, k in enumerate((0, 2))]
            assert value(page, "window.acdnet.panes[0].value(50, 50)") == value(
                page, "window.acdnet.panes[0].image.values[4850]"
            )
            page.keyboard.press("i")
            page.wait_for_timeout(300)
            turned = page.evaluate(BRIGHT, at[0])
            assert turned == pytest.approx(255 - grey[kind][0], abs=2)
            page.click("[data-view=inside]")
            assert "LI, which is no network" in page.inner_text("#error")
            assert value(page, "window.acdnet.view") == "side"
    assert grey["MONOCHROME1"][0] == pytest.approx(255 - grey["MONOCHROME2"][0], abs=2)
    assert grey["MONOCHROME1"][0] != grey["MONOCHROME2"][0]
    assert grey["MONOCHROME1"][1] == grey["MONOCHROME2"][1]  # a difference is shown as always


def test_an_evaluation_is_looked_at(page: Any, tmp_path: Path) -> None:
    store = small_store(tmp_path)
    assert run("evaluate", store, "--out", tmp_path / "out", "--methods", "input,li", "--lesions", 0).code == 0
    result = open_result(tmp_path / "out")
    with Started("view", tmp_path / "out") as address:
        page.goto(address)
        until(page, READY)
        assert value(page, "window.acdnet.panes.map((pane) => pane.label).join()") == "Input,LI,Truth,LI - Truth"
        for number in range(len(result.describe()["slices"])):
            page.click(f"#slices li[data-number='{number}']")
            until(page, f"window.acdnet.panes.every((pane) => pane.path.includes('slices/{number}/') && pane.image)")
            page.wait_for_timeout(200)
            assert value(page, "window.acdnet.panes[0].spacing") == pytest.approx(result.plane(number).spacing_mm)
            shown = [value(page, f"window.acdnet.panes[{k}].value(30, 30)") for k in range(4)]
            assert shown[3] == shown[1] - shown[2]
        page.keyboard.press("t")
        assert page.is_visible("#tables")
        page.click("[data-view=inside]")
        assert "evaluation" in page.inner_text("#error")


def test_a_choice_is_made_in_the_page(page: Any, tmp_path: Path) -> None:
    scan = series(tmp_path / "scan", (True,), ImageOrientationPatient=[1, 0, 0, 0, 0, -1])
    with Started("serve", "--folder", tmp_path / "jobs") as address:
        page.goto(address)
        page.set_input_files("#pick-files", sorted(scan.iterdir()))
        page.wait_for_selector("tr[data-state=failed] .choice", timeout=120_000)
        assert "not axial" in page.inner_text("tr[data-state=failed]")
        page.click(".choice")
        page.wait_for_selector("tr[data-state=done]", timeout=120_000)
        assert page.locator("#jobs tr").count() == 1
        page.click("tr[data-state=done] >> text=Look")
        until(page, READY)
        assert page.inner_text(".pane:first-child .edge.top") == "H"


def test_a_scan_is_dropped_and_taken_home(page: Any, reduced: Path, tmp_path: Path) -> None:
    files = sorted((reduced.parent / "scan").iterdir())
    with Started("serve", "--folder", tmp_path / "jobs") as address:
        page.goto(address)
        page.set_input_files("#pick-files", files)
        page.wait_for_selector("tr[data-state=done]", timeout=120_000)
        with page.expect_download() as waiting:
            page.click("tr[data-state=done] >> text=Download")
        archive = zipfile.ZipFile(io.BytesIO(Path(waiting.value.path()).read_bytes()))
        for number in range(1, len(files) + 1):
            name = f"reduced/{number:04d}.dcm"
            ours, theirs = (pydicom.dcmread(source) for source in (io.BytesIO(archive.read(name)), reduced / name))
            assert np.array_equal(ours.pixel_array, theirs.pixel_array)
        page.click("tr[data-state=done] >> text=Look")
        until(page, READY)
        page.click("#home")
        page.set_input_files("#pick-files", [{"name": "x.dcm", "mimeType": "", "buffer": b"no image"}])
        page.wait_for_selector("tr[data-state=failed]", timeout=60_000)
        page.on("dialog", lambda dialog: dialog.accept())
        page.click("tr[data-state=done] >> text=Delete")
        until(page, "document.querySelectorAll('tr[data-state=done]').length === 0")
        assert len([place for place in (tmp_path / "jobs").iterdir() if place.is_dir()]) == 1
