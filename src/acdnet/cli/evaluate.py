"""`acdnet evaluate`: score methods on simulated pairs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from acdnet.cli.paths import split_names
from acdnet.errors import AcdnetError, InputRefused, ResourceError
from acdnet.methods.registry import method_help


def evaluate(
    data: Annotated[Path, typer.Argument(help="Data set of acdnet simulate, or folder of the benchmark.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New folder for tables, figures and scores.")],
    methods: Annotated[
        str, typer.Option(help=f"Comma-separated: {method_help(with_input=True)}.")
    ] = "input,li,nmar,acdnet",
    split: Annotated[str, typer.Option(help="Comma-separated splits; by default all.")] = "",
    pairs: Annotated[
        int, typer.Option(min=0, max=10**9, help="Evaluate at most N pairs, drawn at random; 0 evaluates all.")
    ] = 0,
    lesions: Annotated[
        int, typer.Option(min=0, max=10**9, help="Number of pairs in which the retention of small lesions is measured.")
    ] = 8,
    seen_patients: Annotated[
        bool, typer.Option("--seen-patients", help="Allow models to be scored on patients of their training.")
    ] = False,
) -> None:
    """Score methods on simulated pairs.

    Writes tables by metal size in three conventions with p-values, figures, and all single scores.
    """
    from rich.console import Console
    from rich.progress import track

    from acdnet.data.pairs import open_pairs
    from acdnet.evaluate.entrants import check_unseen, get_entrants
    from acdnet.evaluate.report import UNFINISHED, write_report, write_unfinished
    from acdnet.evaluate.run import Evaluation
    from acdnet.evaluate.run import evaluate as run
    from acdnet.fast.malloc import keep_freed_memory

    keep_freed_memory()
    names = split_names(methods)
    found = open_pairs(data, split_names(split))
    compared = get_entrants(names)
    if not seen_patients:
        check_unseen(compared, found)
    _make_folder(out)
    total = min(pairs, len(found.infos())) if pairs else len(found.infos())
    console = Console()
    for one in compared:
        if one.training and found.protocol not in one.training.protocol:
            typer.echo(f"note: {one.label} was trained on protocol {one.training.protocol}, not on {found.protocol}")
    evaluation = Evaluation(compared)
    try:
        for _ in track(run(found, evaluation, pairs), "scoring", total, console=console, transient=True):
            pass
    except BaseException:  # keep hours of scores
        with suppress(OSError, AcdnetError):  # the first error is reported
            if unfinished := write_unfinished(evaluation, out):
                typer.echo(f"scores so far: {unfinished}", err=True)
        raise
    (out / UNFINISHED).unlink(missing_ok=True)
    about = {"data": data.name, "protocol": found.protocol, "pairs": total, "methods": names}
    about |= {"store": found.identity, "weights": {one.label: one.weights for one in compared if one.weights}}
    written = _write(evaluation, out, about)
    kept = _lesions(found, compared, min(lesions, total), console)
    if kept:
        write_report(evaluation, kept, out, about)
    _show(evaluation, kept, console)
    for path in written:
        typer.echo(f"written: {path}")
    console.print("Research use only. Not a medical device.", style="dim")


def _make_folder(out: Path) -> None:
    from acdnet.evaluate.report import UNFINISHED

    if out.exists() and (not out.is_dir() or {path.name for path in out.iterdir()} - {UNFINISHED}):
        raise InputRefused(f"{out}: already exists and is not empty; choose another folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResourceError(f"{out}: cannot be created ({error.strerror})") from error


def _lesions(pairs: Any, compared: Any, count: int, console: Any) -> Any:
    """Measure the retention of lesions in some of the pairs."""
    import numpy as np
    from rich.progress import track

    from acdnet.data.pairs import some_of
    from acdnet.evaluate.case import Case
    from acdnet.evaluate.lesions import Retention, lesion_retention

    chosen = some_of(len(pairs.infos()), count) if count else []
    found: list[Retention] = []
    for index in track(chosen, "lesions", console=console, transient=True):
        found += lesion_retention(Case.read(pairs, index), compared, np.random.default_rng(index))
    return found


def _write(evaluation: Any, out: Path, about: dict[str, Any]) -> list[Path]:
    """Write the results before lesions are measured, so that a failure there loses nothing."""
    from acdnet.evaluate.figures import draw_panels, draw_sizes
    from acdnet.evaluate.report import write_cases, write_report

    written = [*write_report(evaluation, [], out, about), write_cases(evaluation, out)]
    draw_panels(evaluation, out / "panels.png")
    draw_sizes(evaluation, out / "sizes.png")
    return [*written, out / "panels.png", out / "sizes.png", *_draw_network(evaluation, out)]


def _draw_network(evaluation: Any, out: Path) -> list[Path]:
    """Draw stages and dictionary of the last ACDNet among the methods."""
    from acdnet.evaluate.figures import case_of, draw_dictionary, draw_stages
    from acdnet.methods.acdnet import ACDNetMethod

    networks = [one for one in evaluation.methods if isinstance(one, ACDNetMethod)]
    if not networks:
        return []
    case, last = case_of(evaluation), networks[-1]
    found = last.decompose([case.measurement(last.device)])[0].decomposition
    assert found is not None
    draw_stages(case.pair, found, out / "stages.png")
    draw_dictionary(last.dictionary, found, out / "dictionary.png")
    return [out / "stages.png", out / "dictionary.png"]


def _show(evaluation: Any, kept: Any, console: Any) -> None:
    from rich.table import Table

    from acdnet.evaluate.report import TERMINAL, marked
    from acdnet.evaluate.tables import all_tables

    for sheet in all_tables(evaluation, kept):
        table = Table(sheet.columns[0], title=sheet.title, caption=sheet.note, caption_justify="left")
        for column in sheet.columns[1:]:
            table.add_column(column, justify="right")
        for n in range(len(sheet.rows)):
            table.add_row(*(marked(cell, TERMINAL) for cell in sheet.parts(n)))
        console.print(table)
