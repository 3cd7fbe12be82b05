"""`acdnet import-weights`: a published checkpoint in, a model of this program out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_weights(
    published: Annotated[Path, typer.Argument(help="Checkpoint in the published naming (.pt).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Model to write (.safetensors; its card beside it).")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing model.")] = False,
) -> None:
    """Convert a published checkpoint, of any number of stages and blocks."""
    from acdnet.weights.published import count_unused, read_published
    from acdnet.weights.save import save_model

    model = read_published(published)
    card = save_model(
        model,
        out,
        name=out.stem,
        summary=f"imported from {published.name}; its training is not known",
        overwrite=force,
    )
    config = model.config
    typer.echo(
        f"{out}: {card.parameters:,} parameters, T={config.T}, {config.blocks} blocks"
        f" ({count_unused(config):,} that take no part in the computation were left out)"
    )
