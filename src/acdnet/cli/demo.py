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

    from acdnet.demo.run import run_demo

    console = Console()
    with console.status("scanning phantoms and reducing their artifacts"):
        result = run_demo(out, model)
    table = Table("phantom", title=f"Window PSNR in dB, RMSE of soft tissue in HU (model {result.model})")
    for column in ("metal pixels", "corrupted", "LI", "ACDNet", "corrupted", "LI", "ACDNet"):
        table.add_column(column, justify="right")
    for row in result.rows:
        table.add_row(
            row.site, str(row.metal_pixels), *(f"{v:.1f} dB" for v in row.psnr), *(f"{v:.0f} HU" for v in row.rmse)
        )
    console.print(table)
    for picture in result.pictures:
        typer.echo(f"picture: {picture}")
    console.print("Research use only. Not a medical device.", style="dim")
