"""Every fault in the table of docs/limits.md has tests, which all hold."""

import ast
from collections.abc import Iterator

from tests.conftest import REPOSITORY
from tests.faults.table import PAGE, ROW, fault_of, held


def names_of_tests() -> Iterator[str]:
    """Yield the names of test functions, and the names of their cases in brackets."""
    for path in (REPOSITORY / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                yield node.name
            elif isinstance(node, ast.keyword) and node.arg == "id" and isinstance(node.value, ast.Constant):
                yield f"[{node.value.value!s}]"


def test_every_fault_has_a_test() -> None:
    rows = [int(number) for number, *_ in ROW.findall(PAGE.read_text())]
    assert rows == sorted(set(rows))
    assert set(range(1, 58)) <= set(rows)
    assert {number for name in names_of_tests() if (number := fault_of(name))} == set(rows)


def test_every_fault_is_handled() -> None:
    for number, fault, _, outcome in ROW.findall(PAGE.read_text()):
        assert outcome.split()[1:] == ["hold"], f"F{number}, {fault}: {outcome}"
    assert [held(outcomes) for outcomes in (["passed"] * 2, ["passed", "failed"], [])] == [
        *("2 hold", "1 of 2 hold", "0 of 0 hold"),
    ]
