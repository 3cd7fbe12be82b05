"""Parse TOML and JSON from outside: bytes, nesting, digits and numbers are limited in this one place."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any

from acdnet.errors import ConfigError, InputRefused
from acdnet.files import read_limited
from acdnet.messages import quoted

MAX_NESTING = 20
"""Lists and tables within each other; the files of this program have up to 5."""
MAX_TOML_BYTES = 2**18
MAX_INTEGER = 2**63
"""Whole numbers have 64 bits, as in TOML."""


def read_toml(path: Path) -> dict[str, Any]:
    """Read a file of settings."""
    try:
        text = read_limited(path, MAX_TOML_BYTES).decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not valid TOML ({quoted(error.reason)})") from error
    return parse_toml(text, str(path))


def parse_toml(text: str, what: str) -> dict[str, Any]:
    """Parse TOML text; errors name `what` it is."""
    if len(text) > MAX_TOML_BYTES:
        raise ConfigError(f"{what}: is longer than {MAX_TOML_BYTES:,} characters")
    try:
        values = tomllib.loads(text)
        _check(values)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{what}: is not valid TOML ({_reason(error)})") from error
    return values


def parse_value(text: str, what: str) -> Any:
    """Parse a single value of TOML; other text is a string."""
    try:
        values = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{what}: is not a valid value ({_reason(error)})") from error
    try:
        _check(values)
    except ValueError as error:
        raise ConfigError(f"{what}: is not a valid value ({_reason(error)})") from error
    return values["value"] if values.keys() == {"value"} else text


def read_json(path: Path, max_bytes: int) -> Any:
    """Read a JSON file."""
    return parse_json(read_limited(path, max_bytes), str(path))


def parse_json(data: bytes | str, what: str) -> Any:
    """Parse JSON; errors name `what` it is."""
    try:
        values = json.loads(data)
        _check(values)
    except (ValueError, RecursionError) as error:
        raise InputRefused(f"{what}: is not valid JSON ({_reason(error)})") from error
    return values


def _check(values: Any) -> None:
    """Raise ValueError for numbers of more than 64 bits, infinite ones, NaN, and values that are nested too deep."""
    level = [values]
    for _ in range(MAX_NESTING + 1):
        deeper: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                deeper += value.values()
            elif isinstance(value, list):
                deeper += value
            elif isinstance(value, int) and abs(value) > MAX_INTEGER:
                raise ValueError(f"a number has {value.bit_length()} bits, the limit is 64")
            elif isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{value} is not a finite number")
        if not deeper:
            return
        level = deeper
    raise ValueError(f"values are nested more than {MAX_NESTING} deep")


def _reason(error: Exception) -> str:
    return "values are nested too deep" if isinstance(error, RecursionError) else quoted(error)
