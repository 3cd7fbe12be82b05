"""The errors of the program, with their exit codes on the command line."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from acdnet.messages import printable, quoted


class AcdnetError(Exception):
    """Base of all errors that a user can fix. The message is one printable line, even if it quotes a file."""

    exit_code = 1

    def __str__(self) -> str:
        return printable(super().__str__())


class ConfigError(AcdnetError):
    """A setting has an unknown name, a wrong type or an invalid value."""

    exit_code = 2


class InputRefused(AcdnetError):
    """An input file cannot be used; nothing was written."""

    exit_code = 3


class OutOfScope(InputRefused):
    """An image that the methods are not designed for."""


class NeedsChoice(InputRefused):
    """An input that needs a decision: an option on the command line, a button in the viewer."""

    SERIES, ANY_PLANE, LOSSY = "series", "any_plane", "lossy"

    def __init__(self, problem: str, choice: str, hint: str) -> None:
        super().__init__(problem + hint)
        self.problem, self.choice = printable(problem), choice


class ModelFileError(InputRefused):
    """A weights file is damaged, malicious, incomplete or does not match its card."""


class ResourceError(AcdnetError):
    """The disk, the memory or a lock prevented the work; earlier results are intact."""

    exit_code = 5


class NoSlices(InputRefused):
    """A folder without any CT slice."""


class PlaceTaken(ResourceError):
    """Another process is writing to the same place."""


class MissingExtra(AcdnetError):
    """A feature needs packages that are not installed."""

    exit_code = 5

    def __init__(self, purpose: str, packages: str) -> None:
        super().__init__(
            f"{purpose} needs additional packages; install them with: {sys.executable} -m pip install {packages}"
        )


class TrainingStopped(AcdnetError):
    """Training stopped early: it was interrupted, or the loss is not finite. The last checkpoint is kept."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def check_limits(settings: object, limits: Mapping[str, tuple[float, float]], section: str = "") -> None:
    """Refuse settings outside their limits."""
    for name, (low, high) in limits.items():
        value = getattr(settings, name)
        if not low <= value <= high:
            raise ConfigError(f"{section}{name} is {quoted(value)}; it must be between {low} and {high}")
