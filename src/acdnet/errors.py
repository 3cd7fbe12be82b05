"""Every error the program raises on purpose; each knows the exit code of the command line."""

from __future__ import annotations

import sys
from collections.abc import Mapping


class AcdnetError(Exception):
    """Base of all errors that a user can do something about. The message is one line."""

    exit_code = 1


class ConfigError(AcdnetError):
    """A setting has an unknown name, a wrong type or an impossible value."""

    exit_code = 2


class InputRefused(AcdnetError):
    """An input file cannot be used; nothing was written."""

    exit_code = 3


class OutOfScope(InputRefused):
    """An image of a kind that the methods were not made for."""


class NeedsChoice(InputRefused):
    """An input that can be used once somebody says how: on the command line by an option, in the viewer by a button."""

    SERIES, ANY_PLANE, LOSSY = "series", "any_plane", "lossy"

    def __init__(self, problem: str, choice: str, hint: str) -> None:
        super().__init__(problem + hint)
        self.problem, self.choice = problem, choice


class ModelFileError(InputRefused):
    """A weights file is damaged, hostile, incomplete or not what its card says."""


class ResourceError(AcdnetError):
    """Disk, memory or a lock stood in the way; earlier results are intact."""

    exit_code = 5


class NoSlices(InputRefused):
    """Files among which there is no slice of a scan."""


class PlaceTaken(ResourceError):
    """Another process is writing there."""


class MissingExtra(AcdnetError):
    """A part of the program needs packages that are not installed."""

    exit_code = 5

    def __init__(self, purpose: str, packages: str) -> None:
        super().__init__(f"{purpose} needs more packages: {sys.executable} -m pip install {packages}")


class TrainingStopped(AcdnetError):
    """Training ended before its time: it was asked to, or its loss is not a number. The last checkpoint is kept."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def check_limits(settings: object, limits: Mapping[str, tuple[float, float]], section: str = "") -> None:
    """Refuse a number outside its limits, by its name."""
    for name, (least, most) in limits.items():
        value = getattr(settings, name)
        if not least <= value <= most:
            raise ConfigError(f"{section}{name} is {value}; it must lie between {least} and {most}")
