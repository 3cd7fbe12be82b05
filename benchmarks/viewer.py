"""How quick the viewer is on a long series: `python -m benchmarks.viewer`. Needs Chromium and Playwright.

A series of 200 slices of 512 x 512 is reduced (metal in ten of them) and opened in Chromium without a screen or a
graphics card: seconds from opening the address to the first picture, and slices a second when scrolling through the
series, each drawn in three panes. `pictures` takes the screenshots of README and docs from the demonstration.
"""

from __future__ import annotations

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
from rich.console import Console
from rich.table import Table

SLICES, SIZE, METAL = 200, 512, 10
COLUMNS = ("viewer, 200 slices of 512 x 512", "measured")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
READY = "() => window.acdnet?.panes?.length && window.acdnet.panes.every((pane) => pane.shown)"
SCROLL = """async (count) => {
  const viewer = window.acdnet, last = viewer.about.slices.length - 1;
  viewer.go(0);
  await new Promise((done) => setTimeout(done, 500));
  const start = performance.now();
  for (let n = 1; n <= Math.min(count, last); n++) {
    viewer.number = n;
    await viewer.refresh();
    await new Promise((done) => requestAnimationFrame(done));
  }
  return Math.min(count, last) / (performance.now() - start) * 1000;
}"""


@contextmanager
def opened(result: Path, width: int = 1280, height: int = 800) -> Iterator[tuple[Any, float]]:
    """Open a result in Chromium; give the page, and the seconds until its first picture."""
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "acdnet", "view", str(result), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
        assert server.stdout is not None
        found = re.search(r"http\S+", server.stdout.readline())
        assert found
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": width, "height": height})
        start = time.perf_counter()
        page.goto(found[0])
        until(page, READY)
        seconds = time.perf_counter() - start
        yield page, seconds
        browser.close()
        server.terminate()


def until(page: Any, script: str) -> None:
    """Wait until something is true; the page forbids the eval that Playwright's own way needs."""
    while not page.evaluate(script):
        page.wait_for_timeout(20)


def measure(slices: int = SLICES, size: int = SIZE) -> list[tuple[str, str]]:
    """Make a series, reduce it, look at it."""
    from acdnet.dicom.create import new_series, write_series

    y, x = np.mgrid[:size, :size] / size - 0.5
    body = np.where((x / 0.42) ** 2 + (y / 0.33) ** 2 < 1, 40.0, -1000.0).astype(np.float32)
    metal = (x - 0.15) ** 2 + (y - 0.02) ** 2 < 0.001
    volume = np.repeat(body[None], slices, 0)
    volume[slices // 2 : slices // 2 + METAL, metal] = 3071.0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write_series(place / "scan", new_series(volume, (1.0, 0.8, 0.8), "benchmark"))
        command = [sys.executable, "-m", "acdnet", "reduce", str(place / "scan"), str(place / "out"), "--method", "li"]
        subprocess.run(command, check=True, capture_output=True)
        with opened(place / "out") as (page, seconds):
            speed = page.evaluate(SCROLL, 100)
    return [("first picture", f"{seconds:.1f} s"), ("scrolling, three panes", f"{speed:.0f} slices a second")]


def pictures(folder: Path) -> list[Path]:
    """Take screenshots of the demonstration."""
    from acdnet.demo.run import run_demo

    with tempfile.TemporaryDirectory() as made:
        run_demo(Path(made) / "demo", "default")
        with opened(Path(made) / "demo" / "dental-fillings" / "result") as (page, _):
            page.wait_for_timeout(500)
            page.screenshot(path=folder / "viewer.png")
            page.keyboard.press("3")
            page.wait_for_selector("#stage-slider", timeout=120_000)
            page.wait_for_timeout(1500)
            page.screenshot(path=folder / "viewer-inside.png")
    return [folder / "viewer.png", folder / "viewer-inside.png"]


def main() -> None:
    """Print the table."""
    table = Table(*COLUMNS)
    for row in measure():
        table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
