"""How fast the viewer is on a long series: `python -m benchmarks.viewer`. Needs Chromium and Playwright.

A result of 200 slices of 512 x 512, with metal and expected error in each of them, is opened in Chromium without a
graphics card. ACDNet reduces a few slices, which the result repeats. Opening is timed twice: from the request of the
page until three panes show a slice, and from the start of `acdnet view`. The browser itself runs before. Scrolling
goes through all slices once with three panes, the outline of the metal and the expected error; a slice counts when all
panes show it and a frame was drawn. `take_pictures` makes the screenshots of README and docs from the demonstration.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from acdnet.cli.demonstration.run import run_demo
from acdnet.io.dicom.create import new_series, write_series
from benchmarks.harness import Table, main, run_python

SLICES, SIZE, DIFFERENT = 200, 512, 4
NOISE_HU = 15.0
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
READY = "() => window.acdnet?.panes?.length && window.acdnet.panes.every((pane) => pane.shown)"
SCROLL = """async () => {
  const viewer = window.acdnet, last = viewer.about.slices.length - 1;
  viewer.toggle("metal", true);
  viewer.toggle("expected_error_hu", true);
  viewer.number = 0;
  await viewer.refresh();
  await new Promise((done) => setTimeout(done, 1000));
  const start = performance.now();
  for (let n = 1; n <= last; n++) {
    viewer.number = n;
    await viewer.refresh();
    await new Promise((done) => requestAnimationFrame(done));
    const whole = viewer.panes.every(({ shown, maps }) => shown.number === n && maps.metal && maps.expected_error_hu);
    if (!whole) throw new Error(`slice ${n + 1} is not shown with its metal and expected error`);
  }
  return last / (performance.now() - start) * 1000;
}"""


@contextmanager
def opened(result: Path, width: int = 1280, height: int = 800) -> Iterator[tuple[Any, float, float]]:
    """Open a result in Chromium; give the page, and the seconds to its picture: from its address, from the start."""
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "acdnet", "view", str(result), "--no-browser"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": width, "height": height})
        started = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            found = re.search(r"http\S+", server.stdout.readline())
            assert found
            asked = time.perf_counter()
            page.goto(found[0])
            until(page, READY)
            shown = time.perf_counter()
            yield page, shown - asked, shown - started
            browser.close()
            server.terminate()


def until(page: Any, script: str) -> None:
    """Wait until something is true; the page forbids the eval that Playwright's own way needs."""
    while not page.evaluate(script):
        page.wait_for_timeout(20)


def make_result(place: Path, slices: int, size: int) -> Path:
    """Reduce a few slices with the default network, and repeat them until there are as many as are wanted."""
    y, x = np.mgrid[:size, :size] / size - 0.5
    noise = np.random.default_rng(0).normal(0.0, NOISE_HU, (DIFFERENT, size, size))
    volume = (np.where((x / 0.42) ** 2 + (y / 0.33) ** 2 < 1, 40.0, -1000.0) + noise).astype(np.float32)
    for n, hu in enumerate(volume):
        hu[(x - 0.15 + 0.02 * n) ** 2 + (y - 0.02) ** 2 < 0.001] = 3071.0
    write_series(place / "scan", new_series(volume, (1.0, 0.8, 0.8), "benchmark"))
    out = place / "out"
    run_python("-m", "acdnet", "reduce", str(place / "scan"), str(out))
    report = json.loads((out / "report.json").read_text())
    report["slices"] = [report["slices"][n % DIFFERENT] | {"number": n + 1} for n in range(slices)]
    (out / "report.json").write_text(json.dumps(report))
    for kind, ending in (("reduced", "dcm"), ("difference", "dcm"), ("maps", "npz")):
        for n in range(DIFFERENT, slices):
            shutil.copyfile(out / kind / f"{n % DIFFERENT + 1:04d}.{ending}", out / kind / f"{n + 1:04d}.{ending}")
    return out


def measure(slices: int = SLICES, size: int = SIZE) -> Table:
    """Make a result and look at it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        opened(make_result(Path(folder), slices, size)) as (page, from_address, from_start),
    ):
        speed = page.evaluate(SCROLL)
    rows = [
        ("first picture, from the request of the page", f"{from_address:.1f} s"),
        ("first picture, from the start of `acdnet view`", f"{from_start:.1f} s"),
        ("scrolling, three panes with metal and expected error", f"{speed:.0f} slices a second"),
    ]
    return Table((f"viewer, {slices} slices of {size} x {size}", "measured"), rows)


def take_pictures(folder: Path) -> None:
    """Take screenshots of the demonstration."""
    with tempfile.TemporaryDirectory() as made:
        run_demo(Path(made) / "demo")
        with opened(Path(made) / "demo" / "dental-fillings" / "result") as (page, *_):
            page.wait_for_timeout(500)
            page.screenshot(path=folder / "viewer.png")
            page.keyboard.press("3")
            page.wait_for_selector("#stage-slider", timeout=120_000)
            page.wait_for_timeout(1500)
            page.screenshot(path=folder / "viewer-inside.png")


if __name__ == "__main__":
    main(measure)
