"""All verbs, and the handling of errors: one line and an exit code."""

from __future__ import annotations

import sys
from typing import Annotated, TextIO, cast

import typer

from acdnet import __version__
from acdnet.cli.batch import batch
from acdnet.cli.demo import demo
from acdnet.cli.evaluate import evaluate
from acdnet.cli.export import export
from acdnet.cli.import_weights import import_weights
from acdnet.cli.info import info
from acdnet.cli.mask import mask
from acdnet.cli.models import models
from acdnet.cli.platform import platform
from acdnet.cli.reduce import reduce
from acdnet.cli.simulate import simulate
from acdnet.cli.train import train
from acdnet.cli.view import serve, view
from acdnet.errors import AcdnetError, ResourceError
from acdnet.messages import Outlet, printable, quiet_libraries

OUT_OF_MEMORY = "out of memory; use fewer workers or smaller images"

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Metal artifact reduction in CT. Research use only; not a medical device.",
    pretty_exceptions_enable=False,
)
app.command()(reduce)
app.command()(mask)
app.command()(batch)
app.command()(platform)
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
    """Run the command line; a result is kept when its messages cannot be written."""
    quiet_libraries()
    out, err = Outlet(sys.stdout), Outlet(sys.stderr)
    sys.stdout, sys.stderr = cast(TextIO, out), cast(TextIO, err)
    code = _run()
    out.flush()
    if out.problem is not None and not out.reader_left:
        print(f"acdnet: standard output: cannot write ({out.problem.strerror})", file=sys.stderr)
        code = code or ResourceError.exit_code
    err.flush()
    sys.exit(code)


def _run() -> int:
    """Run the command; return its exit code."""
    try:
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except AcdnetError as error:
        return _stop(str(error), error.exit_code)
    except MemoryError:
        return _stop(OUT_OF_MEMORY, ResourceError.exit_code)
    except RuntimeError as error:
        if "allocate memory" not in str(error):  # the message of torch
            raise
        return _stop(OUT_OF_MEMORY, ResourceError.exit_code)
    except OSError as error:
        text = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return _stop(text, ResourceError.exit_code)
    return 0


def _stop(message: str, code: int) -> int:
    print("acdnet:", printable(message), file=sys.stderr)
    return code
