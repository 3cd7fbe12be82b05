"""`acdnet export`: a model for other programs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """What a model can be exported to."""

    onnx = "onnx"


def export(
    model: Annotated[str, typer.Argument(help="Name of a shipped model, or a .safetensors file.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write.")],
    format: Annotated[Format, typer.Option("--format", help="File format.")] = Format.onnx,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Export a model and check the written file against the network."""
    from acdnet.weights.export import export_onnx, side_unit
    from acdnet.weights.load import read_acdnet
    from acdnet.weights.shipped import find_model

    network, card = read_acdnet(find_model(model))
    off = export_onnx(network, card, out, overwrite=force)
    unit = side_unit(card.config)
    sides = "" if unit == 1 else f", sides multiples of {unit}"
    if network.config.first != "li":
        sides += f", X_li made by {network.config.first}"
    if network.config.last != "none":
        sides += ", without what `reduce` gives back in the end"
    typer.echo(f"{out}: {format.value}, one image, 16 x 16 or larger{sides}; checked, off by at most {off:.1e} of 255")
