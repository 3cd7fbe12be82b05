"""Every fault has a test, and the page of limits lists them all as holding."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.faults.table import FAULTS, fault_of


def numbers_with_tests() -> set[int]:
    found = set()
    for path in (REPOSITORY / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and (number := fault_of(node.name)):
                found.add(number)
    return found


def test_every_fault_has_a_test() -> None:
    assert sorted(FAULTS) == list(range(1, 58))
    assert numbers_with_tests() == FAULTS.keys()


def test_the_page_says_what_the_tests_say() -> None:
    page = Path(REPOSITORY / "docs/limits.md").read_text()
    for number, (fault, behaviour) in FAULTS.items():
        line = next(line for line in page.splitlines() if line.startswith(f"| F{number:02d} |"))
        assert f"| {fault} | {behaviour} |" in line
        assert " hold" in line, line
        assert " of " not in line.rsplit("|", 2)[-2], line
