"""Complete workflows in Chromium, driven by Playwright."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acdnet.io.scan import NOTICE
from acdnet.viewer.result import open_result
from tests.reduction.make import run, series
from tests.viewer.browser import READY, drag, pixels, until, until_shown, value, viewer, visit
from tests.viewer.server import until as wait_until

NUMBERS = """async (kind) => {
  const answer = await fetch(`api/results/${window.acdnet.name}/slices/${window.acdnet.number}/stages/${kind}`);
  return [...new Int16Array(await answer.arrayBuffer())];
}"""


def grey(page: Any, point: list[float], pane: int = 0) -> int:
    """Return the grey value of a pane at a point in page pixels."""
    picture = pixels(page, pane)
    scale = picture.shape[1] / value(page, f"window.acdnet.panes[{pane}].element.clientWidth")
    return int(picture[int(point[1] * scale), int(point[0] * scale), 0])


def test_a_result_is_viewed(page: Any, address: str, reduced: Path) -> None:
    result = open_result(reduced)
    visit(page, address)
    assert page.inner_text("#notice") == NOTICE
    assert page.is_visible("#notice")
    assert value(page, "document.documentElement.scrollWidth <= 1280")
    number = value(page, "window.acdnet.number")  # it opens at the slice with the largest change
    changes = [entry["mean_change_hu"] for entry in result.describe()["slices"]]
    assert changes[number] == max(changes)

    page.mouse.move(600, 400)
    page.keyboard.press("Home")
    until_shown(page, "slices/0/")
    page.mouse.wheel(0, 100)
    until_shown(page, "slices/1/")
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
        until(page, f"document.getElementById('position').textContent === 'row {edge_row}, column {edge_column}'")
        assert "Before: 3071 HU" in page.inner_text("#values")
        assert grey(page, [x, y]) > 190  # the bright pixels are there
    page.keyboard.press("s")

    before = page.locator(".pane").first.screenshot()
    page.click("button[data-window=bone]")
    page.wait_for_timeout(200)
    assert value(page, "window.acdnet.ranges.image.join()") == "-450,1050"
    assert page.locator(".pane").first.screenshot() != before
    drag(page, 400, 400, 460, 430)
    assert value(page, "window.acdnet.ranges.image.join()") != "-450,1050"
    page.keyboard.press("s")

    page.wait_for_timeout(300)
    zoom = value(page, "window.acdnet.panes.map((pane) => pane.viewport.getZoom())")
    page.keyboard.press("+")
    larger = value(page, "window.acdnet.panes.map((pane) => pane.viewport.getZoom())")
    assert larger == pytest.approx([1.25 * one for one in zoom], rel=0.02)  # all panes are linked
    place = value(page, "window.acdnet.panes.map((pane) => pane.point(40, 40))")
    drag(page, 400, 300, 430, 280, button="middle")
    moved = value(page, "window.acdnet.panes.map((pane) => pane.point(40, 40))")
    assert np.allclose(np.subtract(moved, place), (30, -20), atol=1)
    page.keyboard.press("ArrowDown")
    until_shown(page, "slices/2/")
    assert np.allclose(value(page, "window.acdnet.panes.map((pane) => pane.point(40, 40))"), moved, atol=0.5)


def test_stages_are_viewed(page: Any, address: str) -> None:
    visit(page, address)
    requested: list[str] = []

    def busy_at_first(route: Any) -> None:
        requested.append(route.request.url)
        route.fulfill(status=503, json={"error": "busy"}) if len(requested) < 3 else route.continue_()

    page.route("**/stages/about", busy_at_first)
    page.keyboard.press("3")
    page.wait_for_selector("#stage-slider", timeout=60_000)
    assert len(requested) == 3  # the page repeats the request
    assert not page.is_visible("#error")
    until(page, READY)
    stages = value(page, "window.acdnet.stages.about.stages")
    assert f"stage {stages} of {stages}" in page.inner_text("#panes")
    page.locator("#stage-slider").evaluate(
        "(slider) => { slider.value = 1; slider.dispatchEvent(new Event('input')); }"
    )
    until_shown(page, "artifacts/0/0", pane=1)
    until_shown(page, "images/1/0", pane=0)
    page.wait_for_timeout(300)
    for pane, kind, (low, high) in ((0, "images/1/0", (-160, 240)), (1, "artifacts/0/0", (-200, 200))):
        sent = np.array(page.evaluate(NUMBERS, kind)).reshape(96, 96)
        for row, column in ((5, 5), (60, 60), (57, 28), (49, 62)):  # air, body, bone, metal
            expected = np.clip(255 * (sent[row, column] - low) / (high - low), 0, 255)
            at = value(page, f"window.acdnet.panes[{pane}].point({row}, {column})")
            assert grey(page, at, pane) == pytest.approx(expected, abs=8)  # interpolated between pixels
    page.click("#stages button[title='Show map 2']")
    until_shown(page, "maps/0/1", pane=2)
    assert value(page, "document.querySelector('#panes .pane:nth-child(3) .marks').textContent.includes('0 to ')")
    slider = page.locator("#stage-slider").bounding_box()
    y = slider["y"] + slider["height"] / 2
    page.mouse.move(slider["x"] + 8, y)
    page.mouse.down()
    for step in range(1, 9):  # the slider remains under the pointer
        page.mouse.move(slider["x"] + 8 + step * (slider["width"] - 16) / 8, y)
        page.wait_for_timeout(60)
    page.mouse.up()
    assert value(page, "window.acdnet.stages.t") == stages
    until_shown(page, f"artifacts/{stages - 1}/0", pane=1)
    assert page.locator("#stages canvas").count() >= 32  # the dictionary and the kernels of this slice
    assert page.is_visible("#notice")


def test_marks_and_dark_images(page: Any, tmp_path: Path) -> None:
    seen = {}
    for kind in ("MONOCHROME2", "MONOCHROME1"):
        scan = series(tmp_path / kind, (True,), PhotometricInterpretation=kind)
        assert run("reduce", scan, tmp_path / f"{kind}-out", "--method", "li").code == 0
        with viewer("view", tmp_path / f"{kind}-out") as address:
            visit(page, address)
            page.wait_for_timeout(300)
            edges = "[...document.querySelectorAll('.pane:first-child .edge')].map((edge) => edge.textContent).join('')"
            assert value(page, edges) == "ALPR"
            at = [value(page, f"window.acdnet.panes[{k}].point(50, 50)") for k in (0, 2)]
            seen[kind] = [grey(page, at[n], k) for n, k in enumerate((0, 2))]
            in_file = round(float(open_result(tmp_path / f"{kind}-out").image(0, "before")[50, 50]))
            assert value(page, "window.acdnet.panes[0].value(50, 50)") == in_file
            page.keyboard.press("i")
            page.wait_for_timeout(300)
            inverted = grey(page, at[0])
            assert inverted == pytest.approx(255 - seen[kind][0], abs=2)
            page.click("[data-view=stages]")
            assert "LI, which is not a network" in page.inner_text("#error")
            assert value(page, "window.acdnet.view") == "side"
    assert seen["MONOCHROME1"][0] == pytest.approx(255 - seen["MONOCHROME2"][0], abs=2)
    assert seen["MONOCHROME1"][0] != seen["MONOCHROME2"][0]
    assert seen["MONOCHROME1"][1] == seen["MONOCHROME2"][1]  # differences are never inverted


def test_an_evaluation_is_viewed(page: Any, evaluated: Path) -> None:
    result = open_result(evaluated)
    with viewer("view", evaluated) as address:
        visit(page, address)
        assert value(page, "window.acdnet.panes.map((pane) => pane.shown.label).join()") == "Input,LI,Truth,LI - Truth"
        for number in range(len(result.describe()["slices"])):
            page.click(f"#slices li[data-number='{number}']")
            until_shown(page, f"slices/{number}/")
            assert value(page, "window.acdnet.panes[0].spacing") == pytest.approx(result.plane(number).spacing_mm)
            shown = [value(page, f"window.acdnet.panes[{k}].value(30, 30)") for k in range(4)]
            assert shown[3] == shown[1] - shown[2]
        page.keyboard.press("t")
        assert page.is_visible("#tables")
        page.click("[data-view=stages]")
        assert "evaluation" in page.inner_text("#error")


@pytest.mark.slow
def test_a_choice_is_made_in_the_page(page: Any, tmp_path: Path) -> None:
    scan = series(tmp_path / "scan", (True,), ImageOrientationPatient=[1, 0, 0, 0, 0, -1])
    with viewer("serve", "--folder", tmp_path / "jobs") as address:
        page.goto(address)
        page.set_input_files("#pick-files", sorted(scan.iterdir()))
        page.wait_for_selector("tr[data-state=failed] .choice", timeout=120_000)
        assert "not axial" in page.inner_text("tr[data-state=failed]")
        assert page.inner_text("tr[data-state=failed] td:nth-child(3)").startswith("waiting for your choice")
        page.click(".choice")
        page.wait_for_selector("tr[data-state=done]", timeout=120_000)
        assert page.locator("#jobs tr").count() == 1
        page.click("tr[data-state=done] >> text=Open")
        until(page, READY)
        assert page.inner_text(".pane:first-child .edge.top") == "H"


@pytest.mark.slow
def test_a_scan_is_uploaded_opened_downloaded_and_deleted(page: Any, reduced: Path, tmp_path: Path) -> None:
    files = sorted((reduced.parent / "scan").iterdir())
    with viewer("serve", "--folder", tmp_path / "jobs") as address:
        page.goto(address)
        page.set_input_files("#pick-files", files)
        page.wait_for_selector("tr[data-state=done]", timeout=120_000)
        with page.expect_download() as waiting:
            page.click("tr[data-state=done] >> text=Download")
        names = zipfile.ZipFile(waiting.value.path()).namelist()
        assert {f"reduced/{number:04d}.dcm" for number in range(1, len(files) + 1)} <= set(names)
        page.click("tr[data-state=done] >> text=Open")
        until(page, READY)
        page.click("#home")
        page.set_input_files("#pick-files", [{"name": "x.dcm", "mimeType": "", "buffer": b"no image"}])
        page.wait_for_selector("tr[data-state=failed]", timeout=60_000)
        page.on("dialog", lambda dialog: dialog.accept())
        page.click("tr[data-state=done] >> text=Delete")
        until(page, "document.querySelectorAll('tr[data-state=done]').length === 0")
        wait_until(lambda: sum(place.is_dir() for place in (tmp_path / "jobs").iterdir()) == 1, 5)
        page.goto("about:blank")  # stops the requests for jobs
