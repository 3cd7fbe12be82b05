"""All verbs, and the handling of errors: one line and an exit code."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from acdnet import __version__
from acdnet.cli.demo import demo
from acdnet.cli.evaluate import evaluate
from acdnet.cli.export import export
from acdnet.cli.import_weights import import_weights
from acdnet.cli.info import info
from acdnet.cli.models import models
from acdnet.cli.reduce import reduce
from acdnet.cli.simulate import simulate
from acdnet.cli.train import train
from acdnet.cli.view import serve, view
from acdnet.errors import AcdnetError, ResourceError

OUT_OF_MEMORY = "out of memory; use fewer workers or smaller images"

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Metal artifact reduction in CT. Research use only; not a medical device.",
    pretty_exceptions_enable=False,
)
app.command()(reduce)
app.command()(info)
app.command()(view)
app.command()(serve)
app.command()(demo)
app.command()(simulate)
app.command()(train)
app.command()(evaluate)
app.command()(models)
app.command(name="import-weights")(import_weights)
app.command()(export)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"acdnet {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    try:
        app()
    except AcdnetError as error:
        _stop(str(error), error.exit_code)
    except MemoryError:
        _stop(OUT_OF_MEMORY, ResourceError.exit_code)
    except RuntimeError as error:
        if "allocate memory" not in str(error):  # the message of torch
            raise
        _stop(OUT_OF_MEMORY, ResourceError.exit_code)
    except OSError as error:
        _stop(f"{error.filename}: {error.strerror}" if error.filename else str(error), ResourceError.exit_code)


def _stop(message: str, code: int) -> None:
    print("acdnet:", " ".join(message.split()), file=sys.stderr)
    sys.exit(code)
