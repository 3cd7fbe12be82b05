"""`acdnet export`: convert a model to ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    model: Annotated[str, typer.Argument(help="A shipped model, or a .safetensors file.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="ONNX file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Export a model to ONNX and compare the file with the network."""
    from acdnet.weights.export import export_onnx, side_unit
    from acdnet.weights.load import read_acdnet
    from acdnet.weights.shipped import find_model

    network, card = read_acdnet(find_model(model))
    off = export_onnx(network, card, out, overwrite=force)
    unit = side_unit(card.config)
    sides = "" if unit == 1 else f", sides multiples of {unit}"
    if network.config.first != "li":
        sides += f", X_li by {network.config.first}"
    if network.config.last != "none":
        sides += f", without the {network.config.last} of `acdnet reduce`"
    typer.echo(f"{out}: ONNX, one image, 16 x 16 or larger{sides}; largest difference {off:.1e} of 255")
