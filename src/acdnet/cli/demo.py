"""`acdnet demo`: see it work on embedded data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the pictures.")] = Path("demo-output"),
    model: Annotated[str, typer.Option(help="Name of a shipped model, or a .safetensors file.")] = "default",
) -> None:
    """Scan three phantom patients with metal, reduce the artifacts, score and draw the result."""
    from rich.console import Console
    from rich.table import Table

    from acdnet.demo.run import CAPTION, COLUMNS, run_demo

    console = Console()
    with console.status("scanning phantoms and reducing their artifacts"):
        result = run_demo(out, model)
    table = Table(COLUMNS[0], caption=f"{CAPTION}; model {result.model}", caption_justify="left")
    for column in COLUMNS[1:]:
        table.add_column(column, justify="right")
    for row in result.rows:
        table.add_row(*row.cells())
    console.print(table)
    for picture in result.pictures:
        typer.echo(f"picture: {picture}")
    console.print("Research use only. Not a medical device.", style="dim")
