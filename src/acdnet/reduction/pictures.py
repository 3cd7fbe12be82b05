"""Images of a reduced slice for the report, drawn with PIL because matplotlib would take longer than the work."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation

from acdnet.io.slices import Slice
from acdnet.reduction.report import Example

WINDOW_HU = (-160.0, 240.0)
CHANGE_HU = 200.0
ERROR_HU = 100.0
PANEL, GAP, HEAD = 380, 8, 24
"""Width of a panel, gap between panels, and height of the titles, in pixels."""
BACKGROUND, INK, METAL = (16, 20, 24), (232, 234, 237), (219, 33, 41)
HEAT = np.array([(0, 0, 4), (81, 18, 124), (183, 55, 121), (252, 137, 97), (252, 253, 191)], float)
"""Colour scale from 0 to 1."""


def draw_slice(example: Example, slice_: Slice) -> bytes:
    """Draw before, after, difference and expected error with the metal outlined; return a PNG."""
    from PIL import Image, ImageDraw, ImageFont

    panels = _panels(example, slice_)
    rows, columns = slice_.hu.shape
    height = round(PANEL * rows * slice_.spacing_mm[0] / (columns * slice_.spacing_mm[1]))
    sheet = Image.new("RGB", (len(panels) * (PANEL + GAP) - GAP, HEAD + height), BACKGROUND)
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(14)
    outline = binary_dilation(example.metal, iterations=2) & ~binary_dilation(example.metal)
    for n, (title, colours) in enumerate(panels):
        colours[outline] = METAL
        picture = Image.fromarray(colours).resize((PANEL, height), Image.Resampling.LANCZOS)
        sheet.paste(picture, (n * (PANEL + GAP), HEAD))
        pen.text((n * (PANEL + GAP) + PANEL / 2, HEAD / 2), title, INK, font, anchor="mm")
    buffer = BytesIO()
    sheet.save(buffer, "PNG")
    return buffer.getvalue()


def _panels(example: Example, slice_: Slice) -> list[tuple[str, NDArray[np.uint8]]]:
    before = np.nan_to_num(slice_.hu)
    change = np.where(example.metal, 0.0, example.change)
    panels = [
        ("before", _grey(before, *WINDOW_HU)),
        ("after", _grey(before + change, *WINDOW_HU)),
        (f"after - before, ±{CHANGE_HU:.0f} HU", _grey(change, -CHANGE_HU, CHANGE_HU)),
    ]
    if example.expected_error_hu is not None:
        panels.append((f"expected error, 0 to {ERROR_HU:.0f} HU", _heat(example.expected_error_hu / ERROR_HU)))
    return panels


def _grey(image: NDArray[Any], low: float, high: float) -> NDArray[np.uint8]:
    grey = (255 * np.clip((image - low) / (high - low), 0.0, 1.0)).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=2)


def _heat(share: NDArray[Any]) -> NDArray[np.uint8]:
    steps = np.linspace(0.0, 1.0, len(HEAT))
    return np.stack([np.interp(share, steps, HEAT[:, k]) for k in range(3)], axis=-1).astype(np.uint8)
