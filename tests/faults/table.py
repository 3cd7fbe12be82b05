"""The table of faults in docs/limits.md. Tests named after a row (test_f01_..., or [F01 ...]) count for it.

`pytest -m "" --limits` runs all tests and writes into the table how many of them passed.
"""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/limits.md"
ROW = re.compile(r"^\| F(\d\d) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
"""Number, fault, what happens, and how many tests hold."""
NAME = re.compile(r"(?:test_|\[)f(\d\d)[_ ]", re.IGNORECASE)


def fault_of(test: str) -> int | None:
    """Return the row that a test counts for, from the name of the test."""
    found = NAME.search(test)
    return int(found[1]) if found else None


def held(outcomes: list[str]) -> str:
    """Say how many tests passed."""
    passed = outcomes.count("passed")
    return f"{passed} hold" if outcomes and passed == len(outcomes) else f"{passed} of {len(outcomes)} hold"


def write(outcomes: dict[int, list[str]]) -> None:
    """Write the outcomes of the tests into the table."""

    def row(found: re.Match[str]) -> str:
        number, fault, behaviour, _ = found.groups()
        return f"| F{number} | {fault} | {behaviour} | {held(outcomes.get(int(number), []))} |"

    PAGE.write_text(ROW.sub(row, PAGE.read_text()))
