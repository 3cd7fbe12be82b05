"""`acdnet view` and `acdnet serve`: the viewer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer


def view(
    result: Annotated[Path, typer.Argument(help="Folder written by acdnet reduce or acdnet evaluate.")],
    model: Annotated[str, typer.Option(help="Model of the result, needed for its stages unless it is shipped.")] = "",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 chooses a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Show a result in the browser.

    Images before and after, their difference, and the stages of the network. Research use only.
    """
    from acdnet.viewer.serve import run_server
    from acdnet.weights.card import read_card
    from acdnet.weights.shipped import find_model

    if model:
        read_card(find_model(model))
    run_server({"result": result}, None, model, port, browser, typer.echo)


def serve(
    folder: Annotated[
        Path | None, typer.Option(help="Folder for uploaded scans, kept until deleted; by default in your data folder.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 chooses a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Open a web page that reduces uploaded scans.

    The page shows the results and offers them for download. Research use only.
    """
    from acdnet.viewer.serve import run_server

    run_server({}, folder or _data_folder(), "", port, browser, typer.echo)


def _data_folder() -> Path:
    """Return the data folder by the XDG rules."""
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "acdnet" / "scans"
