"""Pictures of the demonstration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from acdnet.demo.scan import Scan
from acdnet.evaluate.metrics import window_psnr
from acdnet.model.acdnet import Decomposition
from acdnet.model.border import to_hu
from acdnet.pictures import BACKGROUND, INK, caption, save, show
from acdnet.units import HU_CEILING, HU_PER_UNIT

WINDOW_HU = (-250.0, 350.0)
DIFFERENCE_HU = 300.0
CAPTION = caption(
    f"window {WINDOW_HU[0]:.0f} to {WINDOW_HU[1]:.0f} HU, differences ±{DIFFERENCE_HU:.0f} HU · metal in red · "
    "phantoms made by formula"
)


def draw_comparison(cases: list[tuple[str, Scan, NDArray[np.float32]]], path: Path) -> None:
    """Draw a row per case: corrupted, LI, ACDNet, what ACDNet removed, truth; metal in red."""
    titles = ("corrupted", "LI", "ACDNet", "removed by ACDNet", "truth")
    figure = _figure(len(cases), len(titles))
    for row, (site, scanned, reduced) in enumerate(cases):
        removed = np.where(scanned.metal, 0.0, scanned.corrupted - reduced)
        images = (scanned.corrupted, scanned.li, reduced, removed, scanned.clean)
        for column, (title, image) in enumerate(zip(titles, images, strict=True)):
            axes = figure.add_subplot(len(cases), len(titles), row * len(titles) + column + 1)
            if title == "removed by ACDNet":
                show(axes, image, scanned.metal, -DIFFERENCE_HU, DIFFERENCE_HU)
            else:
                show(axes, image, scanned.metal, *WINDOW_HU)
            if column < 3:
                axes.set_xlabel(f"{window_psnr(image, scanned.clean, scanned.metal):.1f} dB", color=INK, fontsize=11)
            if row == 0:
                axes.set_title(title, color=INK, fontsize=12)
            if column == 0:
                axes.set_ylabel(site, color=INK, fontsize=12)
    save(figure, path, CAPTION)


def draw_stages(scanned: Scan, found: Decomposition, path: Path) -> None:
    """Draw image X^(t) and artifact A^(t) of every stage, and the kernels D * K that the last stage used."""
    T = len(found.artifacts)
    artifact = np.where(scanned.metal, 0.0, np.clip(scanned.corrupted, None, HU_CEILING) - scanned.clean)
    images = [(f"$X^{{({t})}}$", to_hu(found.images[t])) for t in range(1, T + 1)]
    artifacts = [(f"$A^{{({t + 1})}}$", found.artifacts[t][0, 0].numpy() * HU_PER_UNIT) for t in range(T)]
    rows = [
        ([*images, ("truth $X$", scanned.clean)], WINDOW_HU),
        ([*artifacts, ("truth $Y - X$", artifact)], (-DIFFERENCE_HU, DIFFERENCE_HU)),
    ]
    figure = _figure(2.7, T + 1)
    parts: Any = figure.subfigures(2, 1, height_ratios=(2, 0.6))
    for part in parts:
        part.set_facecolor(BACKGROUND)
    above, below = parts
    for row, (panels, window) in enumerate(rows):
        for column, (title, image) in enumerate(panels):
            axes = above.add_subplot(2, T + 1, row * (T + 1) + column + 1)
            show(axes, image, scanned.metal, *window)
            axes.set_title(title, color=INK)
    kernels = found.kernels[-1][0].numpy()
    for n, kernel in enumerate(kernels):
        axes = below.add_subplot(1, len(kernels), n + 1)
        axes.imshow(kernel, cmap="magma")
        axes.set_title(f"$(D * K)_{{{n + 1}}}$", color=INK)
        axes.set_axis_off()
    save(figure, path, CAPTION)


def _figure(rows: float, columns: int) -> Figure:
    figure = Figure(figsize=(2.5 * columns, 2.6 * rows), facecolor=BACKGROUND, layout="constrained")
    FigureCanvasAgg(figure)
    return figure
