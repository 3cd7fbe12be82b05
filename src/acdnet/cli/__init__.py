"""The command line, one file per verb. Verbs import what they need when they run, so that `--help` is quick."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback from the first import on."""
    try:
        from acdnet.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


__all__ = ["main"]
