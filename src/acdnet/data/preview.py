"""A contact sheet of a store: for some pairs the clean slice, the corrupted one, LI and the mask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from acdnet.data.store import Pair
from acdnet.figures import BACKGROUND, INK, METAL_COLOUR, caption, save, show

WINDOW_HU = (-250.0, 350.0)
COLUMNS = ("clean", "corrupted", "LI", "metal")


def draw_preview(pairs: list[tuple[str, Pair]], path: Path) -> None:
    """Draw a row per pair, two rows side by side."""
    if not pairs:
        raise ValueError("no pair to draw")
    beside = 2 if len(pairs) > 3 else 1
    rows = -(-len(pairs) // beside)
    figure = Figure(figsize=(2.1 * 4 * beside, 2.35 * rows + 0.4), facecolor=BACKGROUND, layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(rows, 4 * beside, squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    for n, (title, pair) in enumerate(pairs):
        first = 4 * (n % beside)
        images = (pair.clean, pair.corrupted, pair.li, np.where(pair.metal, WINDOW_HU[1], WINDOW_HU[0]))
        for column, image in enumerate(images):
            axis = axes[n // beside, first + column]
            show(axis, image, np.zeros_like(pair.metal), *WINDOW_HU)
            if n < beside:
                axis.set_title(COLUMNS[column], color=INK, fontsize=11)
        axes[n // beside, first].text(
            0.03, 0.97, title, color=INK, fontsize=7, va="top", transform=axes[n // beside, first].transAxes
        )
        axes[n // beside, first].contour(pair.metal, [0.5], colors=[METAL_COLOUR], linewidths=0.8)
    save(figure, path, caption(f"window {WINDOW_HU[0]:.0f} to {WINDOW_HU[1]:.0f} HU · simulated metal artifacts"))
