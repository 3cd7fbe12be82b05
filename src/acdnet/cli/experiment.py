"""`acdnet experiment`: the ablations of the paper's supplement."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def experiment(
    name: Annotated[
        str, typer.Argument(help="blocks: residual blocks of the proximal networks. order: of the updates.")
    ],
    config: Annotated[
        Path, typer.Argument(help="Settings of a training run; its patches are the budget of each variant.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the runs and the table.")],
    change: Annotated[list[str] | None, typer.Option("--set", help="section.key=value, wins over the file.")] = None,
) -> None:
    """Train the variants of an ablation and compare them on validation pairs; a stopped one goes on."""
    from rich.console import Console
    from rich.table import Table

    from acdnet.train.config import read_config
    from acdnet.train.experiment import experiment as run
    from acdnet.train.experiment import write_table

    settings = read_config(config, [*(change or ()), f'run.folder="{out}"'])
    outcomes = []
    for outcome in run(settings, name, out):
        outcomes.append(outcome)
        write_table(outcomes, out / f"{name}.csv")
    table = Table("variant", "parameters", "patches", *outcomes[0].scores, title=f"{name}, on validation pairs")
    for one in outcomes:
        table.add_row(
            one.variant, f"{one.parameters:,}", str(one.patches), *(f"{score:.2f}" for score in one.scores.values())
        )
    Console().print(table)
    typer.echo(f"written: {out / f'{name}.csv'}")
