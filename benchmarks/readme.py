"""Write the tables and pictures of the README: `python -m benchmarks.readme`. No number in them is typed by hand."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from acdnet.demo.run import CAPTION, run_demo
from acdnet.demo.run import COLUMNS as DEMO_COLUMNS
from benchmarks.model import COLUMNS, ROOT, ROUNDS, measure, notes


def markdown(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Format a table."""
    titles = list(header)
    lines = [titles, ["---"] * 2 + ["---:"] * (len(titles) - 2), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def put(path: Path, name: str, text: str) -> None:
    """Put a text between the two markers of its name."""
    whole = path.read_text()
    marked, count = re.subn(
        rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", lambda m: f"{m[1]}\n{text}\n\n{m[2]}", whole, flags=re.DOTALL
    )
    if count != 1:
        raise SystemExit(f"{path}: the markers of {name!r} are missing")
    path.write_text(marked)


def main() -> None:
    readme = ROOT / "README.md"
    demo = run_demo(ROOT / "docs" / "pictures", "default")
    table = markdown(DEMO_COLUMNS, (row.cells() for row in demo.rows))
    put(readme, "demo table", f"{table}\n\n{CAPTION}; model `{demo.model}`.")
    report = measure(ROUNDS)
    table = markdown(COLUMNS, (row.cells() for row in report.rows))
    put(readme, "bench table", table + "\n\n" + "\n".join(f"- {note}" for note in notes(report)))


if __name__ == "__main__":
    main()
