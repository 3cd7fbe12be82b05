"""The command line: a file a verb. What a verb needs is imported when it runs, so that `--help` is quick."""

from acdnet.cli.app import main

__all__ = ["main"]
