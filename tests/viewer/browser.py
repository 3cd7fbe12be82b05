"""Helpers of the browser tests: a viewer process, waiting, and pixels of the page."""

import base64
import io
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

READY = "window.acdnet?.panes?.length && window.acdnet.panes.every((pane) => pane.shown)"
CANVAS = """([k, which]) => {
  const canvas = window.acdnet.panes[k].box.querySelector(which);
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let text = "";
  for (let n = 0; n < data.length; n += 4096) text += String.fromCharCode(...data.subarray(n, n + 4096));
  return [canvas.height, canvas.width, btoa(text)];
}"""
IMAGE, OVERLAY = ".image canvas", "canvas.over"


@contextmanager
def viewer(*arguments: object) -> Iterator[str]:
    """Run the viewer in its own process; give its address."""
    command = [sys.executable, "-m", "acdnet", *(str(argument) for argument in arguments), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http\S+", process.stdout.readline())
            assert found
            yield found[0]
        finally:
            process.terminate()


def value(page: Any, script: str) -> Any:
    """Evaluate an expression in the page."""
    return page.evaluate(f"() => {script}")


def until(page: Any, script: str, seconds: float = 30.0) -> None:
    """Wait until an expression is true. Playwright's wait_for_function needs eval, which the page forbids."""
    end = time.monotonic() + seconds
    while not value(page, script):
        assert time.monotonic() < end, f"not true after {seconds} s: {script}"
        page.wait_for_timeout(50)


def until_shown(page: Any, path: str, pane: int | None = None) -> None:
    """Wait until one pane, or all panes, show content whose path contains `path`."""
    one = f"Boolean(pane.shown?.path.includes({path!r}))"
    panes = "window.acdnet.panes" if pane is None else f"[window.acdnet.panes[{pane}]]"
    until(page, f"{panes}.length && {panes}.every((pane) => {one})")
    settle(page)


def settle(page: Any) -> None:
    """Wait for two frames, so that the page is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def pixels(page: Any, pane: int, which: str = IMAGE) -> NDArray[np.uint8]:
    """Return the pixels of a canvas of a pane: rows, columns, RGBA."""
    settle(page)
    height, width, text = page.evaluate(CANVAS, [pane, which])
    return np.frombuffer(base64.b64decode(text), np.uint8).reshape(height, width, 4)


def screen(page: Any, selector: str) -> NDArray[np.uint8]:
    """Return a screenshot of an element: rows, columns, RGB."""
    settle(page)
    return np.asarray(Image.open(io.BytesIO(page.locator(selector).first.screenshot())).convert("RGB"))


def bounds(found: NDArray[Any]) -> tuple[int, int, int, int]:
    """Return the first and last row and the first and last column of a mask."""
    rows, columns = np.nonzero(found)
    return int(rows.min()), int(rows.max()), int(columns.min()), int(columns.max())


def marks(page: Any) -> list[str]:
    """Return the texts in the corners of the panes, also of hidden ones."""
    found: list[str] = value(page, "window.acdnet.panes.map((pane) => pane.marks.textContent)")
    return found


def hold(page: Any, pattern: str | re.Pattern[str]) -> list[Any]:
    """Hold matching requests until `release` is called; return the list that collects them."""
    held: list[Any] = []
    page.route(pattern, lambda route: held.append(route))
    return held


def release(page: Any, held: list[Any]) -> None:
    """Let the held requests continue."""
    while held:
        held.pop().continue_()
    page.unroute_all()


def visit(page: Any, address: str) -> None:
    """Open a result and wait until its panes show it."""
    page.goto(address)
    until(page, READY)


def drag(page: Any, *places: float, steps: int = 1, button: str = "left", key: str = "") -> None:
    """Drag the pointer between two places (x, y, x, y), with a key held down."""
    if key:
        page.keyboard.down(key)
    page.mouse.move(*places[:2])
    page.mouse.down(button=button)
    page.mouse.move(*places[2:], steps=steps)
    page.mouse.up(button=button)
    if key:
        page.keyboard.up(key)


def open_stages(page: Any) -> None:
    """Switch to the network stages and wait until they are shown."""
    page.keyboard.press("3")
    page.wait_for_selector("#stage-slider", timeout=60_000)
    until(page, f"window.acdnet.view === 'stages' && {READY}")
    page.wait_for_timeout(300)
