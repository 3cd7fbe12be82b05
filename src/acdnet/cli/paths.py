"""Paths as printed."""

from __future__ import annotations

from pathlib import Path


def relative(path: Path) -> Path:
    """Return a path relative to the current folder if it is inside."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def split_names(text: str) -> list[str]:
    """Split a comma-separated list."""
    return [name.strip() for name in text.split(",") if name.strip()]
