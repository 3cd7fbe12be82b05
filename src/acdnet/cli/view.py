"""`acdnet view` and `acdnet serve`: the viewer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer


def view(
    result: Annotated[Path, typer.Argument(help="What acdnet reduce or acdnet evaluate wrote.")],
    model: Annotated[
        str, typer.Option(help="The model it was made with, to look inside; shipped ones are found.")
    ] = "",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Look at a result: before, after and what was removed, and inside the network. Research use only."""
    from acdnet.viewer.serve import run_server
    from acdnet.weights.card import read_card
    from acdnet.weights.shipped import find_model

    if model:
        read_card(find_model(model))
    run_server({"result": result}, None, model, port, browser, typer.echo)


def serve(
    folder: Annotated[
        Path | None, typer.Option(help="Where scans are kept until they are deleted; your own data folder without it.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Open a page into which scans can be dropped: they are reduced, shown and handed back. Research use only."""
    from acdnet.viewer.serve import run_server

    run_server({}, folder or _data_folder(), "", port, browser, typer.echo)


def _data_folder() -> Path:
    """Return where programs of a user keep their data, by the XDG rules."""
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "acdnet" / "scans"
