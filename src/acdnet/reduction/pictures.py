"""Pictures of a reduced slice."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from acdnet.pictures import BACKGROUND, INK, METAL_COLOUR
from acdnet.reduction.report import Look
from acdnet.scans.scan import ScanSlice

WINDOW_HU = (-160.0, 240.0)
CHANGE_HU = 200.0
DOUBT_HU = 100.0


def draw_slice(look: Look, slice_: ScanSlice) -> bytes:
    """Draw before, after, difference and expected error, the metal outlined; return a PNG."""
    before = np.nan_to_num(slice_.hu)
    panels: list[tuple[str, NDArray[Any], tuple[float, float], str]] = [
        ("before", before, WINDOW_HU, "gray"),
        ("after", before + np.where(look.metal, 0.0, look.change), WINDOW_HU, "gray"),
        (f"difference, ±{CHANGE_HU:.0f} HU", np.where(look.metal, 0.0, look.change), (-CHANGE_HU, CHANGE_HU), "gray"),
    ]
    if look.doubt is not None:
        panels.append((f"expected error, 0 to {DOUBT_HU:.0f} HU", look.doubt, (0.0, DOUBT_HU), "magma"))
    rows, columns = before.shape
    height = 3.3 * rows * slice_.spacing_mm[0] / (columns * slice_.spacing_mm[1])
    figure = Figure(figsize=(3.3 * len(panels), height + 0.35), facecolor=BACKGROUND, layout="constrained")
    FigureCanvasAgg(figure)
    for n, (title, image, (low, high), colours) in enumerate(panels, 1):
        axes = figure.add_subplot(1, len(panels), n)
        aspect = slice_.spacing_mm[0] / slice_.spacing_mm[1]
        axes.imshow(image, cmap=colours, vmin=low, vmax=high, aspect=aspect, interpolation="antialiased")
        axes.contour(look.metal, [0.5], colors=[METAL_COLOUR], linewidths=0.8)
        axes.set_title(title, color=INK, fontsize=10)
        axes.set_axis_off()
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    return buffer.getvalue()
