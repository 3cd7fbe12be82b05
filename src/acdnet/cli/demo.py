"""`acdnet demo`: see it work on embedded data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the series and the picture.")] = Path(
        "demo-output"
    ),
    method: Annotated[str, typer.Option(help="A shipped model of ACDNet, or a .safetensors file.")] = "acdnet",
) -> None:
    """Scan two phantom patients with metal, write DICOM, reduce the artifacts, score and draw the result."""
    from rich.console import Console
    from rich.table import Table

    from acdnet.cli.demonstration.run import CAPTION, COLUMNS, run_demo

    console = Console(highlight=False, soft_wrap=True)
    with console.status("starting") as status:
        result = run_demo(out, method, lambda text: status.update(text))
    table = Table(COLUMNS[0], caption=f"{CAPTION}; model {result.model}", caption_justify="left")
    table.add_column(COLUMNS[1], justify="right")
    table.add_column(COLUMNS[2])
    for column in COLUMNS[3:]:
        table.add_column(column, justify="right")
    for row in result.rows:
        for line in row.lines():
            table.add_row(*line)
    console.print(table)
    here = Path.cwd()
    for path in (*result.folders, result.picture):
        name = {"original": "DICOM series", "result": "result"}.get(path.name, "picture")
        console.print(f"{name}: {path.relative_to(here) if path.is_relative_to(here) else path}")
    shown = result.folders[1]
    shown = shown.relative_to(here) if shown.is_relative_to(here) else shown
    console.print(f"Next: look at a result with `acdnet view {shown}`, or give `acdnet reduce` a series of your own.")
    console.print("Research use only. Not a medical device.", style="dim")
