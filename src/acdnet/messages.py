"""Text for people: printable, on one line, short where it quotes a value, on any terminal, without library warnings."""

from __future__ import annotations

import errno
import logging
import os
import sys
import warnings
from typing import Any

MAX_QUOTED = 200
"""Characters of a quoted value; longer ones are cut."""
MAX_MESSAGE = 2000
"""Characters of a whole message, which may hold several paths and values."""
TALKATIVE = ("pydicom", "nibabel", "nibabel.global", "PIL", "pylibjpeg", "openjpeg", "jpeg_ls")
"""Libraries that read files and describe damage in warnings and logs of several lines."""


def printable(text: str, limit: int = MAX_MESSAGE) -> str:
    """Return text on one line of at most `limit` characters; what is not printable becomes an escape."""
    line = "".join(map(_visible, " ".join(text[: 4 * limit].split())))
    return line if len(line) <= limit and len(text) <= 4 * limit else f"{line[: limit - 3]}..."


def quoted(value: object) -> str:
    """Return a value from a file or a request as it may appear in a message: printable and at most 200 characters."""
    try:
        text = str(value)
    except Exception:
        return f"a {type(value).__name__} that cannot be shown"
    return printable(text, MAX_QUOTED)


def quiet_readers() -> None:
    """Suppress the warnings of libraries that read files: they quote tag values, which may identify a patient."""
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.CRITICAL)
        warnings.filterwarnings("ignore", module=rf"{name}\b")


def quiet_libraries() -> None:
    """Keep all warnings off the terminal, so that a refusal is one line; `python -W` shows them all the same."""
    quiet_readers()
    if not sys.warnoptions:
        warnings.simplefilter("ignore")


class Outlet:
    """A text stream for results and messages that goes on without its reader: when it is full, closed or not UTF-8.

    Characters that the encoding lacks are written as escapes. The first failure to write is kept in `problem`.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.problem: OSError | None = None
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

    def write(self, text: str) -> int:
        """Write text, or nothing after a failure."""
        if self.problem is None:
            try:
                self.stream.write(text)
            except OSError as error:
                self._give_up(error)
        return len(text)

    def flush(self) -> None:
        """Flush the stream; a failure is kept."""
        if self.problem is None:
            try:
                self.stream.flush()
            except OSError as error:
                self._give_up(error)

    @property
    def reader_left(self) -> bool:
        """Whether a reader like `head` closed the pipe, which is no fault."""
        return self.problem is not None and self.problem.errno == errno.EPIPE

    def _give_up(self, error: OSError) -> None:
        """Keep the error, and send what is still buffered nowhere, or it would be written again at the end."""
        self.problem = error
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)
        except OSError:  # a stream without a file
            return

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _visible(letter: str) -> str:
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode()
