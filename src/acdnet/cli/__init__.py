"""The command line, one file per verb. Verbs import what they need when they run, so that `--help` is quick."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback, also while it is being imported."""
    try:
        with _ended_by_interrupts():
            from acdnet.cli.app import main as run
        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


@contextmanager
def _ended_by_interrupts() -> Iterator[None]:
    """End at once on Ctrl-C: Python loses a KeyboardInterrupt in some places of an import."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
