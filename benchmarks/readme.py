"""Write the tables and pictures of README and docs: `python -m benchmarks.readme [part ...]`.

No number in them is typed by hand. Parts: demo, bench, training, reduction, phantoms, trust, beside, physics,
methods, preview, viewer, rivals; without an argument, all. The table of results is that of `benchmarks.results`.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

from benchmarks.model import ROOT

README, SIMULATION, PICTURES = ROOT / "README.md", ROOT / "docs" / "simulation.md", ROOT / "docs" / "pictures"
REDUCE = ROOT / "docs" / "reduce.md"


def markdown(header: Iterable[str], rows: Iterable[Iterable[str]], texts: int = 2) -> str:
    """Format a table; its first columns are texts, the others numbers."""
    titles = list(header)
    lines = [titles, ["---"] * texts + ["---:"] * (len(titles) - texts), *rows]
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


def demo() -> None:
    """Run the demonstration."""
    from acdnet.cli.demonstration.run import CAPTION, COLUMNS, run_demo

    with tempfile.TemporaryDirectory() as folder:
        made = run_demo(Path(folder) / "demo", "default")
        (PICTURES / made.picture.name).write_bytes(made.picture.read_bytes())
    table = markdown(COLUMNS, (line for row in made.rows for line in row.lines()), texts=3)
    put(README, "demo table", f"{table}\n\n{CAPTION}; model `{made.model}`.")


def bench() -> None:
    """Measure the network."""
    from benchmarks.model import COLUMNS, ROUNDS, measure, notes

    report = measure(ROUNDS)
    table = markdown(COLUMNS, (row.cells() for row in report.rows))
    put(README, "bench table", table + "\n\n" + "\n".join(f"- {note}" for note in notes(report)))


def training() -> None:
    """Measure the training step."""
    from benchmarks.training import COLUMNS, measure

    table = markdown(COLUMNS, (row.cells() for row in measure()), texts=1)
    put(README, "training table", f"{table}\n\nThe paper's architecture, batches of 8 patches of 64 x 64.")


def reduction() -> None:
    """Measure what reduce costs."""
    from benchmarks.reduction import COLUMNS, METAL, ROUNDS, SIZE, SLICES, measure

    models = ("default", "benchmark-full")  # the small network, and the paper's sizes
    table = markdown(COLUMNS, (row.cells() for row in measure(models=models)), texts=1)
    note = f"{SLICES} DICOM slices of {SIZE} x {SIZE} with metal in {METAL}; medians of {ROUNDS} alternating rounds."
    put(REDUCE, "reduce table", f"{table}\n\n{note}")


def viewer() -> None:
    """Time the viewer, and take its pictures."""
    from benchmarks.viewer import COLUMNS, measure, pictures

    put(ROOT / "docs" / "viewer.md", "viewer table", markdown(COLUMNS, measure(), texts=1))
    pictures(PICTURES)


def phantoms() -> None:
    """Score the default model on consecutive phantoms."""
    from benchmarks.phantoms import COLUMNS, measure

    put(README, "phantom table", markdown(COLUMNS, measure(), texts=1))


def trust() -> None:
    """Measure whether metal is found and errors are expected where they are."""
    from benchmarks.trust import PAIRS, phantoms, rank_correlations, segmentation

    with tempfile.TemporaryDirectory() as folder:
        pairs = phantoms(Path(folder))
        columns, rows = segmentation(pairs, PAIRS)
        ranks = list(rank_correlations(pairs, PAIRS, "default"))
    put(REDUCE, "metal table", markdown(columns, rows, texts=1))
    told = f"mean {sum(ranks) / len(ranks):.2f}, least {min(ranks):.2f}"
    put(REDUCE, "trust figures", f"Spearman's rank correlation over {len(ranks)} pairs: {told}.")


def beside() -> None:
    """Measure what giving back to rays beside the metal does."""
    from benchmarks.beside import COLUMNS, PAIRS, measure
    from benchmarks.trust import phantoms

    with tempfile.TemporaryDirectory() as folder:
        table = markdown(COLUMNS, measure(phantoms(Path(folder)), PAIRS, "default"), texts=1)
    put(ROOT / "docs" / "maths.md", "beside table", table)


def physics() -> None:
    """Measure the physics."""
    from benchmarks.physics import COLUMNS, ROUNDS, cells, measure, notes

    table = markdown(COLUMNS, cells(measure(ROUNDS)))
    put(SIMULATION, "physics table", table + "\n\n" + "\n".join(f"- {note}" for note in notes()))


def methods() -> None:
    """Score the classical methods on phantoms."""
    from acdnet.data.sources import open_source
    from acdnet.physics.simulate import PROTOCOLS
    from benchmarks.methods import COLUMNS, PAIRS, SLICES, cells, compare, recipe

    slices = open_source("phantom", SLICES).slices
    rows = [
        [protocol, *row]
        for protocol in PROTOCOLS
        for row in cells(compare(slices, recipe(protocol, PAIRS)), "**", "**")
    ]
    note = f"Means over {SLICES} phantoms with {PAIRS} implants each; HU columns are RMSE without metal."
    put(SIMULATION, "methods table", markdown(("protocol", "method", *COLUMNS), rows) + f"\n\n{note}")


def preview() -> None:
    """Draw the contact sheet."""
    from acdnet.cli.simulate import simulate

    with tempfile.TemporaryDirectory() as folder:
        simulate(
            "phantom", Path(folder) / "data", protocol="clinical", pairs=1, slices=6, preview=PICTURES / "preview.png"
        )


def rivals() -> None:
    """Measure a training step and a slice of every learned method."""
    from acdnet.config import NETWORKS
    from benchmarks.rivals import COLUMNS, measure

    table = markdown(COLUMNS, (row.cells() for row in measure(list(NETWORKS))), texts=1)
    put(ROOT / "docs" / "comparison.md", "rivals table", table)


def main() -> None:
    """Write the parts that are asked for."""
    parts = {
        part.__name__: part
        for part in (
            demo,
            bench,
            training,
            reduction,
            phantoms,
            trust,
            beside,
            physics,
            methods,
            preview,
            viewer,
            rivals,
        )
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *parts], default=[])
    for name in parser.parse_args().parts or parts:
        parts[name]()


if __name__ == "__main__":
    main()
