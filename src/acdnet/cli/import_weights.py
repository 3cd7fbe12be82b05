"""`acdnet import-weights`: convert a published checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_weights(
    published: Annotated[Path, typer.Argument(help="Published checkpoint (.pt).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Model to write (.safetensors, with a .json card).")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing model.")] = False,
) -> None:
    """Convert a published checkpoint to a model.

    The number of stages and blocks may differ from the published one.
    """
    from acdnet.weights.published import count_unused, read_published
    from acdnet.weights.save import save_model

    model = read_published(published)
    card = save_model(
        model,
        out,
        name=out.stem,
        summary=f"imported from {published.name}; training unknown",
        overwrite=force,
    )
    config = model.config
    typer.echo(
        f"{out}: {card.parameters:,} parameters, T={config.T}, {config.blocks} blocks"
        f" ({count_unused(config):,} unused ones were left out)"
    )
