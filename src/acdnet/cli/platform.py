"""`acdnet platform`: the entry point of the container for Mercure, XNAT and Flywheel."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from acdnet.errors import ConfigError
from acdnet.methods.registry import method_help


class Platform(StrEnum):
    """What to do."""

    MERCURE = "mercure"
    FLYWHEEL = "flywheel"
    FOLDER = "folder"
    XNAT_LABEL = "xnat-label"
    FLYWHEEL_MANIFEST = "flywheel-manifest"


def platform(
    what: Annotated[
        Platform,
        typer.Argument(help="Run as mercure, flywheel or on a folder (XNAT); or print a description for a platform."),
    ],
    source: Annotated[
        Path | None, typer.Argument(metavar="[INPUT]", help="For folder: the input. For flywheel: its folder.")
    ] = None,
    out: Annotated[Path | None, typer.Argument(metavar="[OUTPUT]", help="For folder: an existing folder.")] = None,
    method: Annotated[str, typer.Option(help=f"For folder: one of {method_help()}.")] = "acdnet",
) -> None:
    """Reduce all series that a platform mounts into the container.

    Files that are not CT slices are no failure. Exit code 0 if at least one series could be used.
    """
    if what == Platform.XNAT_LABEL:
        from acdnet.platforms.xnat import commands

        typer.echo(json.dumps(commands()))
    elif what == Platform.FLYWHEEL_MANIFEST:
        from acdnet.platforms.flywheel import manifest

        typer.echo(json.dumps(manifest(), indent=2))
    elif what == Platform.MERCURE:
        from acdnet.platforms.mercure import run_mercure

        typer.echo(run_mercure())
    elif what == Platform.FLYWHEEL:
        from acdnet.platforms.flywheel import ROOT, run_flywheel

        typer.echo(run_flywheel(source or ROOT))
    else:
        from acdnet.platforms.job import deliver_folders, reduce_all, summary
        from acdnet.platforms.settings import PlatformSettings

        if source is None or out is None or not out.is_dir():
            raise ConfigError("give the folder of the input and an existing folder for the output")
        rows = reduce_all(source, out, PlatformSettings.read({"method": method}, "--method"))
        deliver_folders(rows, out)
        typer.echo(summary(rows))
