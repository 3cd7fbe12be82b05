"""The figures of the paper: panels with scores, stages, the dictionary, scores by metal size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from acdnet.data.store import Pair
from acdnet.evaluate.case import Case
from acdnet.evaluate.metrics import score
from acdnet.evaluate.run import Evaluation
from acdnet.evaluate.size_bins import size_groups
from acdnet.figures import BACKGROUND, FAINT, INK, caption, new_figure, save, show
from acdnet.methods.hu_adapter import to_hu
from acdnet.model.acdnet import Decomposition
from acdnet.units import HU_CEILING, HU_PER_UNIT

WINDOW_HU = (-175.0, 275.0)
DIFFERENCE_HU = 200.0
COLOURS = (
    "#9aa0a6", "#f28b82", "#fdd663", "#81c995", "#78d9ec", "#8ab4f8",
    "#c58af9", "#ff8bcb", "#d7ae8d", "#e8eaed", "#ff6d01", "#46bdc6",
)  # fmt: skip
STYLES = ("-", "--", ":")
"""Line styles, used after all colours."""
PANELS = 7
"""Panels per row."""


def draw_panels(evaluation: Evaluation, path: Path) -> None:
    """Draw each case: the truth and every method with its scores, metal in red."""
    names = [one.label for one in evaluation.methods]
    high = -(-(len(names) + 1) // PANELS)  # rows per case, evenly filled
    wide = -(-(len(names) + 1) // high)
    figure, axes = _grid(high * len(evaluation.shown), wide, 2.4, 2.75)
    shown = sorted(evaluation.shown, key=lambda one: -one[0].metal_pixels)
    for row, (case, images) in enumerate(shown):
        pair, own = case.pair, axes[row * high : (row + 1) * high].flat
        show(own[0], pair.clean, pair.metal, *WINDOW_HU)
        own[0].set_ylabel(f"{case.metal_pixels} px of metal", color=INK)
        own[0].set_title("truth", color=INK)
        for axis, name in zip(own[1:], names, strict=False):
            found = score(images[name], pair.clean, pair.metal)
            show(axis, images[name], pair.metal, *WINDOW_HU)
            axis.set_title(name, color=INK)
            axis.set_xlabel(f"{found.window_psnr:.1f} dB / {found.window_ssim:.3f}", color=INK, fontsize=9)
        for axis in own[len(names) + 1 :]:
            axis.set_axis_off()
    save(
        figure,
        path,
        caption(f"window {WINDOW_HU[0]:.0f} to {WINDOW_HU[1]:.0f} HU · PSNR / SSIM (window) · metal in red"),
    )


def draw_stages(pair: Pair, found: Decomposition, path: Path) -> None:
    """Draw image and artifact of every stage and of the truth."""
    T = len(found.artifacts)
    high = -(-(T + 1) // PANELS)  # rows, evenly filled
    wide = -(-(T + 1) // high)
    truth = np.where(pair.metal, 0.0, np.clip(pair.corrupted, None, HU_CEILING) - pair.clean)
    images = [(f"$X^{{({t})}}$", to_hu(found.images[t])) for t in range(1, T + 1)] + [("truth $X$", pair.clean)]
    artifacts = [(f"$A^{{({t + 1})}}$", found.artifacts[t][0, 0].numpy() * HU_PER_UNIT) for t in range(T)]
    figure, axes = _grid(2 * high, wide, 2.0, 2.25)
    for axis in axes.flat:
        axis.set_axis_off()
    for row, (panels, window) in enumerate(
        ((images, WINDOW_HU), ([*artifacts, ("truth $Y - X$", truth)], (-DIFFERENCE_HU, DIFFERENCE_HU)))
    ):
        for n, (title, image) in enumerate(panels):
            axis = axes[2 * (n // wide) + row, n % wide]
            axis.set_axis_on()
            show(axis, image, pair.metal, *window)
            axis.set_title(title, color=INK)
    save(figure, path, caption(f"image and artifact at every stage · artifacts ±{DIFFERENCE_HU:.0f} HU · metal in red"))


def draw_dictionary(D: NDArray[np.float32], found: Decomposition, path: Path) -> None:
    """Draw the dictionary D, the mixing weights K of an image, and its kernels D * K."""
    kernels, K = found.kernels[-1][0].numpy(), found.K[-1][0].numpy()
    figure = new_figure(12, 5.2)
    parts: Any = figure.subfigures(1, 3, width_ratios=(1.7, 1.6, 0.8))
    for part, title in zip(
        parts, ("dictionary $D$", "mixing weights $K$ of this image", "kernels $D * K$"), strict=True
    ):
        part.set_facecolor(BACKGROUND)
        part.suptitle(title, color=INK)
    _tiles(parts[0], D, 8)
    axis = parts[1].add_subplot(1, 1, 1)
    limit = float(np.abs(K).max())
    axis.imshow(K, cmap="coolwarm", vmin=-limit, vmax=limit, aspect="auto")
    axis.set_xlabel("filter of $D$", color=FAINT)
    axis.set_ylabel("kernel", color=FAINT)
    axis.tick_params(colors=FAINT)
    _tiles(parts[2], kernels, 2)
    save(figure, path, caption("dictionary of all images, and the weights and kernels of one image"))


def draw_sizes(evaluation: Evaluation, path: Path) -> None:
    """Plot the mean window PSNR of every method in each group of metal sizes."""
    figure = new_figure(9.5, 5)
    axis: Any = figure.add_subplot(1, 1, 1, facecolor=BACKGROUND)
    groups = size_groups([result.metal_pixels for result in evaluation.results])[::-1]
    for n, one in enumerate(evaluation.methods):
        parts = [[r for r in evaluation.of(one.label) if group.holds(r.metal_pixels)] for group in groups]
        psnr = [np.mean([r.scores.window_psnr for r in part]) for part in parts]
        colour, style = COLOURS[n % len(COLOURS)], STYLES[n // len(COLOURS) % len(STYLES)]
        axis.plot(psnr, color=colour, label=one.label, linewidth=2, linestyle=style, marker="o", markersize=4)
    axis.set_xticks(range(len(groups)), [group.title for group in groups])
    axis.set_xlabel("metal", color=INK)
    axis.set_ylabel("PSNR, window (dB)", color=INK)
    axis.tick_params(colors=FAINT, which="both")
    axis.grid(color="#30363c", linewidth=0.5)
    for spine in axis.spines.values():
        spine.set_color("#30363c")
    figure.legend(loc="outside right upper", facecolor=BACKGROUND, edgecolor="#30363c", labelcolor=INK)
    save(figure, path, caption("means over groups of equal numbers of cases, by metal size"))


def _tiles(part: Any, tiles: NDArray[np.float32], columns: int) -> None:
    axes = part.subplots(-(-len(tiles) // columns), columns, squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    for axis, tile in zip(axes.flat, tiles, strict=False):
        axis.imshow(tile, cmap="magma")


def _grid(rows: int, columns: int, width: float, height: float) -> tuple[Figure, Any]:
    figure = new_figure(width * columns, height * rows + 0.3)
    engine: Any = figure.get_layout_engine()
    engine.set(h_pad=0.1)  # room for superscripts in titles
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat:
        axis.set_xticks([])
        axis.set_yticks([])
    return figure, axes


def case_of(evaluation: Evaluation) -> Case:
    """Return the example with the most metal."""
    return max((case for case, _ in evaluation.shown), key=lambda case: case.metal_pixels)
