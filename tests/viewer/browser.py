"""What the tests of the page share: a viewer of their own, and looks at the page and its pixels."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import time
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
PICTURE, OVER = ".image canvas", "canvas.over"


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


def value(page: Any, script: str) -> Any:
    """Return what an expression is in the page."""
    return page.evaluate(f"() => {script}")


def until(page: Any, script: str, seconds: float = 30.0) -> None:
    """Wait until something is true. Playwright's own way needs eval in the page, which the page forbids."""
    end = time.monotonic() + seconds
    while not value(page, script):
        assert time.monotonic() < end, f"not true after {seconds} s: {script}"
        page.wait_for_timeout(50)


def until_shown(page: Any, path: str, pane: int | None = None) -> None:
    """Wait until one pane, or all, show what lies under a path."""
    one = f"Boolean(pane.shown?.path.includes({path!r}))"
    panes = "window.acdnet.panes" if pane is None else f"[window.acdnet.panes[{pane}]]"
    until(page, f"{panes}.length && {panes}.every((pane) => {one})")
    settle(page)


def settle(page: Any) -> None:
    """Let the page draw: two frames."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def pixels(page: Any, pane: int, which: str = PICTURE) -> NDArray[np.uint8]:
    """Return what a canvas of a pane holds: rows, columns, RGBA."""
    import base64

    settle(page)
    height, width, text = page.evaluate(CANVAS, [pane, which])
    return np.frombuffer(base64.b64decode(text), np.uint8).reshape(height, width, 4)


def screen(page: Any, selector: str) -> NDArray[np.uint8]:
    """Return what is seen of an element: rows, columns, RGB."""
    settle(page)
    return np.asarray(Image.open(io.BytesIO(page.locator(selector).first.screenshot())).convert("RGB"))


def frame(found: NDArray[Any]) -> tuple[int, int, int, int]:
    """Return the first and last row, and the first and last column, where something is true."""
    rows, columns = np.nonzero(found)
    return int(rows.min()), int(rows.max()), int(columns.min()), int(columns.max())


def marks(page: Any) -> list[str]:
    """Return what the panes say of themselves, hidden or not."""
    found: list[str] = value(page, "window.acdnet.panes.map((pane) => pane.marks.textContent)")
    return found
