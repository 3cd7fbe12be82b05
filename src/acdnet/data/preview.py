"""A contact sheet of a store: clean slice, corrupted slice, LI and mask of some pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from acdnet.data.store import Pair
from acdnet.figures import INK, METAL_COLOUR, caption, new_figure, save, show

WINDOW_HU = (-250.0, 350.0)
COLUMNS = ("clean", "corrupted", "LI", "metal")


def draw_preview(pairs: list[tuple[str, Pair]], path: Path) -> None:
    """Draw one row per pair, in one or two columns."""
    if not pairs:
        raise ValueError("no pair to draw")
    blocks = 2 if len(pairs) > 3 else 1
    rows = -(-len(pairs) // blocks)
    figure = new_figure(2.1 * 4 * blocks, 2.35 * rows + 0.4)
    axes: Any = figure.subplots(rows, 4 * blocks, squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    for n, (title, pair) in enumerate(pairs):
        first = 4 * (n % blocks)
        images = (pair.clean, pair.corrupted, pair.li, np.where(pair.metal, WINDOW_HU[1], WINDOW_HU[0]))
        for column, image in enumerate(images):
            axis = axes[n // blocks, first + column]
            show(axis, image, np.zeros_like(pair.metal), *WINDOW_HU)
            if n < blocks:
                axis.set_title(COLUMNS[column], color=INK, fontsize=11)
        axes[n // blocks, first].text(
            0.03, 0.97, title, color=INK, fontsize=7, va="top", transform=axes[n // blocks, first].transAxes
        )
        axes[n // blocks, first].contour(pair.metal, [0.5], colors=[METAL_COLOUR], linewidths=0.8)
    save(figure, path, caption(f"window {WINDOW_HU[0]:.0f} to {WINDOW_HU[1]:.0f} HU · simulated metal artifacts"))
