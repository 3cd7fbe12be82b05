"""Write the tables and pictures of README and docs: `python -m benchmarks.readme [part ...]`; without a part, all.

No number in them is typed by hand. The table of results is written by `benchmarks.results`.
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
from collections.abc import Callable
from pathlib import Path

from acdnet.cli.demonstration.run import CAPTION, COLUMNS, run_demo
from acdnet.cli.simulate import simulate
from benchmarks.harness import ROOT, Table, put

README, DOCS = ROOT / "README.md", ROOT / "docs"
PICTURES = DOCS / "pictures"
TABLES = {
    "model": (README, "bench table"),
    "training": (README, "training table"),
    "phantoms": (README, "phantom table"),
    "reduction": (DOCS / "reduce.md", "reduce table"),
    "viewer": (DOCS / "viewer.md", "viewer table"),
    "physics": (DOCS / "simulation.md", "physics table"),
    "rivals": (DOCS / "comparison.md", "rivals table"),
}
"""Where the tables of the benchmarks go that need no data."""


def write_table(name: str) -> None:
    """Run a benchmark and write its table."""
    page, marker = TABLES[name]
    put(page, marker, importlib.import_module(f"benchmarks.{name}").measure().markdown())


def demo() -> None:
    """Run the demonstration."""
    with tempfile.TemporaryDirectory() as folder:
        made = run_demo(Path(folder) / "demo")
        (PICTURES / made.picture.name).write_bytes(made.picture.read_bytes())
    rows = [line for row in made.rows for line in row.lines()]
    put(README, "demo table", Table(COLUMNS, rows, [f"{CAPTION}; model `{made.model}`."], texts=3).markdown())


def trust() -> None:
    """Measure the expected error and the gain of the trace correction on the same pairs."""
    from benchmarks import trace_correction, trust

    with trust.clinical_pairs(None) as pairs:
        put(DOCS / "reduce.md", "trust figures", trust.describe(trust.rank_correlations(pairs)))
        put(DOCS / "maths.md", "trace correction table", trace_correction.measure(pairs).markdown())


def pictures() -> None:
    """Draw the contact sheet, and take screenshots of the viewer."""
    from benchmarks.viewer import take_pictures

    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "data"
        simulate("phantom", store, protocol="clinical", pairs=1, slices=6, preview=PICTURES / "preview.png")
    take_pictures(PICTURES)


def main() -> None:
    """Write the parts that are asked for."""
    others: dict[str, Callable[[], None]] = {part.__name__: part for part in (demo, trust, pictures)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *TABLES, *others], default=[])
    for name in parser.parse_args().parts or [*TABLES, *others]:
        if name in TABLES:
            write_table(name)
        else:
            others[name]()


if __name__ == "__main__":
    main()
