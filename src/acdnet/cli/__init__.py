"""The command line, one file per verb. Verbs import what they need when they run, so that `--help` is quick."""

from acdnet.cli.app import main

__all__ = ["main"]
