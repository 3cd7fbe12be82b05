"""The style of all figures: dark background, grey slices, metal in red, and the research notice."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from acdnet.files import write_atomically

METAL_COLOUR = (0.86, 0.13, 0.16)
BACKGROUND, INK, FAINT = "#101418", "#e8eaed", "#9aa0a6"


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure."""
    figure = Figure(figsize=(width, height), facecolor=BACKGROUND, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def show(axes: Any, image: NDArray[Any], metal: NDArray[np.bool_], low: float, high: float) -> None:
    """Draw a slice in a window with its metal in red."""
    grey = np.clip((image - low) / (high - low), 0.0, 1.0)
    axes.imshow(np.where(metal[..., None], METAL_COLOUR, grey[..., None]), interpolation="antialiased")
    axes.set_xticks([])
    axes.set_yticks([])


def caption(text: str) -> str:
    """Append the research notice to a caption."""
    return f"{text} · research use only · not a medical device"


def save(figure: Figure, path: Path, text: str, dpi: int = 100) -> None:
    """Save a figure with its caption as PNG."""
    figure.supxlabel(text, color=FAINT, fontsize=9)
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi)
    write_atomically({path: buffer.getvalue()})
