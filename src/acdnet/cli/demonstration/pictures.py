"""The figure of the demonstration."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from acdnet.evaluate.metrics import hu_rmse, regions
from acdnet.figures import INK, caption, new_figure, save, show
from acdnet.units import Image, Mask

WINDOW_HU = (-200.0, 300.0)
DIFFERENCE_HU = 300.0
CAPTION = caption(
    f"window {WINDOW_HU[0]:.0f} to {WINDOW_HU[1]:.0f} HU, difference ±{DIFFERENCE_HU:.0f} HU · RMSE of soft tissue · "
    "metal in red · simulated phantoms"
)


def draw_comparison(cases: list[tuple[str, dict[str, Image], Mask]], path: Path) -> None:
    """Draw one row per patient: as scanned, LI, ACDNet, their difference, and the truth."""
    columns = ("as scanned", "LI", "ACDNet", "as scanned - ACDNet", "truth")
    figure = new_figure(2.9 * len(columns), 2.9 * len(cases) + 0.5)
    for row, (title, images, metal) in enumerate(cases):
        truth = images["truth"]
        soft = regions(truth, metal)["soft"]
        rows, columns_ = around_body(truth)
        for column, name in enumerate(columns):
            axes = figure.add_subplot(len(cases), len(columns), row * len(columns) + column + 1)
            if name == "as scanned - ACDNet":
                removed = np.where(metal, 0.0, images["as scanned"] - images["ACDNet"])
                show(axes, removed[rows, columns_], metal[rows, columns_], -DIFFERENCE_HU, DIFFERENCE_HU)
            else:
                show(axes, images[name][rows, columns_], metal[rows, columns_], *WINDOW_HU)
            if name in ("as scanned", "LI", "ACDNet"):
                axes.set_xlabel(f"{hu_rmse(images[name], truth, soft):.0f} HU", color=INK, fontsize=11)
            if row == 0:
                axes.set_title(name, color=INK, fontsize=12)
            if column == 0:
                axes.set_ylabel(title, color=INK, fontsize=12)
    save(figure, path, CAPTION)


def around_body(truth: Image) -> tuple[slice, slice]:
    """Return the square around the body."""
    body = truth > -500.0
    rows, columns = np.flatnonzero(body.any(1)), np.flatnonzero(body.any(0))
    half = max(rows[-1] - rows[0], columns[-1] - columns[0]) // 2 + 6
    middles = [(axis[0] + axis[-1]) // 2 for axis in (rows, columns)]
    top, left = (
        int(np.clip(middle - half, 0, size - 2 * half)) if 2 * half < size else 0
        for middle, size in zip(middles, truth.shape, strict=True)
    )
    return slice(top, top + 2 * half), slice(left, left + 2 * half)
