"""The settings that a platform passes on, checked before the work."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from acdnet.batch.work import Plan
from acdnet.errors import ConfigError, check_limits
from acdnet.messages import quoted
from acdnet.methods.registry import check_method

LIMITS = {"metal_threshold": (500.0, 30000.0), "workers": (0, 64)}


@dataclass(frozen=True)
class PlatformSettings:
    """The settings of a job, with the names of the options of `acdnet reduce`."""

    method: str = "acdnet"
    metal_threshold: float = 0.0
    """0: metal is found by the localiser."""
    device: str = "auto"
    workers: int = 0
    accept_non_axial: bool = False
    accept_lossy: bool = False
    difference: bool = False
    """Send the difference series, too."""

    @classmethod
    def read(cls, values: Any, where: str) -> PlatformSettings:
        """Check the names and types of settings; a text stands for a number or a truth value, as in forms."""
        if not isinstance(values, dict):
            raise ConfigError(f"{where}: the settings are not a JSON object")
        types = get_type_hints(cls)
        if unknown := sorted(set(values) - set(types)):
            names = ", ".join(field.name for field in fields(cls))
            raise ConfigError(f"{where}: unknown setting {quoted(unknown[0])!r}; known are {names}")
        settings = cls(**{name: _typed(name, value, types[name], where) for name, value in values.items()})
        limits = LIMITS if settings.metal_threshold else {**LIMITS, "metal_threshold": (0.0, 0.0)}
        check_limits(settings, limits, f"{where}: ")
        check_method(settings.method)
        return settings

    def plan(self, out: str) -> Plan:
        """Return the plan of a job that writes to a folder."""
        threshold = self.metal_threshold or None
        return Plan(out, self.method, self.device, threshold, self.accept_non_axial, self.accept_lossy, self.workers)


def _typed(name: str, value: Any, kind: type, where: str) -> Any:
    if kind is bool and str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    if kind in (int, float) and isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            return kind(value)
        except (ValueError, OverflowError):
            pass
    if kind is str and isinstance(value, str):
        return value
    raise ConfigError(f"{where}: {name} is {quoted(value)!r}; it must be of type {kind.__name__}")
