"""`acdnet demo`: an example without data of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Output folder; an earlier demo is replaced.")] = Path(
        "demo-output"
    ),
    method: Annotated[str, typer.Option(help="A model of ACDNet: a shipped name or a .safetensors file.")] = "acdnet",
) -> None:
    """Simulate two patients with metal, reduce the artifacts, and score the result.

    Writes the DICOM series, the results of `acdnet reduce`, and a figure.
    """
    from rich.console import Console
    from rich.table import Table

    from acdnet.cli.demonstration.run import CAPTION, COLUMNS, run_demo
    from acdnet.cli.paths import relative

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
    for path in (*result.folders, result.picture):
        name = {"original": "DICOM series", "result": "result"}.get(path.name, "picture")
        console.print(f"{name}: {relative(path)}")
    console.print(f"Next: `acdnet view {relative(result.folders[1])}`, or `acdnet reduce` with a scan of your own.")
    console.print("Research use only. Not a medical device.", style="dim")
