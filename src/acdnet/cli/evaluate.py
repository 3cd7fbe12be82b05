"""`acdnet evaluate`: methods and models scored on simulated pairs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from acdnet.errors import AcdnetError, InputRefused, ResourceError
from acdnet.methods.registry import method_help


def evaluate(
    data: Annotated[Path, typer.Argument(help="A store of `acdnet simulate`, or a folder of the benchmark.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New folder for tables, figures and scores.")],
    methods: Annotated[
        str, typer.Option(help=f"Separated by commas: {method_help(with_input=True)}.")
    ] = "input,li,nmar,acdnet",
    split: Annotated[str, typer.Option(help="Only pairs of these splits, with commas; all without it.")] = "",
    pairs: Annotated[int, typer.Option(min=0, help="At most so many pairs, some of all (0: all).")] = 0,
    lesions: Annotated[
        int, typer.Option(min=0, help="Pairs, of those scored, in which the retention of small lesions is measured.")
    ] = 8,
    seen_patients: Annotated[
        bool, typer.Option("--seen-patients", help="Score models on patients they were trained on, too.")
    ] = False,
) -> None:
    """Score methods by metal size in three conventions; tables, figures, p-values and every single score."""
    from rich.console import Console
    from rich.progress import track

    from acdnet.data.pairs import open_pairs
    from acdnet.evaluate.entrants import check_unseen, get_entrants
    from acdnet.evaluate.report import UNFINISHED, write_report, write_unfinished
    from acdnet.evaluate.run import Evaluation
    from acdnet.evaluate.run import evaluate as run
    from acdnet.fast.malloc import keep_freed_memory

    keep_freed_memory()
    names = [name.strip() for name in methods.split(",") if name.strip()]
    found = open_pairs(data, [name.strip() for name in split.split(",") if name.strip()])
    compared = get_entrants(names)
    if not seen_patients:
        check_unseen(compared, found)
    _make_folder(out)
    total = min(pairs, len(found.infos())) if pairs else len(found.infos())
    console = Console()
    for one in compared:
        if one.training and found.protocol not in one.training.protocol:
            typer.echo(
                f"note: {one.label} was trained on another protocol ({one.training.protocol}) than {found.protocol}"
            )
    evaluation = Evaluation(compared)
    try:
        for _ in track(run(found, evaluation, pairs), "scoring", total, console=console, transient=True):
            pass
    except BaseException:  # refused, or stopped by hand: hours of scores are kept
        with suppress(OSError, AcdnetError):  # what stopped it is told, whatever happens here
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
        raise InputRefused(f"{out}: exists already and is not an empty folder; choose another")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResourceError(f"{out}: cannot be made ({error.strerror})") from error


def _lesions(pairs: Any, compared: Any, count: int, console: Any) -> Any:
    """Measure the retention of lesions; None where it is not wanted."""
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
    """Write what there is before lesions are looked at, so that nothing is lost if that is refused."""
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
