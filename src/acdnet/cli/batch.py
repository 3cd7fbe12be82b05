"""`acdnet batch`: reduce all series below a folder."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from acdnet.cli import INTERRUPTED
from acdnet.cli.paths import relative
from acdnet.errors import InputRefused
from acdnet.methods.registry import check_method, method_help


def batch(
    source: Annotated[
        Path, typer.Argument(metavar="ROOT", help="Folder with series at any depth, or a text file of paths.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUTPUT", help="New folder, or that of an earlier run to continue.")],
    method: Annotated[str, typer.Option(help=f"One of {method_help()}.")] = "acdnet",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps, xpu ...")] = "auto",
    workers: Annotated[
        int, typer.Option(min=0, max=256, help="Series in parallel, one core each; 0 uses all cores, at most 8.")
    ] = 0,
    part: Annotated[str, typer.Option(help="I/N: only part I of N of the series, for job arrays.")] = "1/1",
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, instead of local processes (extra cluster).")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Try the series that failed again.")] = False,
    places: Annotated[
        Path | None, typer.Option(help="Write a list of the series with their first files, which may name patients.")
    ] = None,
) -> None:
    """Reduce all series below a folder: one report and one row of series.csv for each.

    A series that cannot be used gets a row with the reason. Repeat the command to continue after an interruption.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(highlight=False, soft_wrap=True, markup=False)
    if not source.exists():
        raise InputRefused(f"{source}: no such file or folder")
    check_method(method)

    from acdnet.batch.find import Part, find_tasks
    from acdnet.batch.rows import TABLE, Row, read_rows, write_table
    from acdnet.batch.run import prepare, run, to_do, worker_count
    from acdnet.batch.work import Plan

    wanted = Part.parse(part)
    plan = Plan(str(out.absolute()), method, device)
    prepare(source, out.absolute(), plan)
    with console.status("searching") as status:
        tasks = find_tasks(source, wanted, lambda files: status.update(f"searching: {files} files"))
    if places is not None:
        _write_places(places, [(task.key, (*task.files, task.source)[0]) for task in tasks])
    todo = to_do(tasks, out, retry)
    console.print(f"{len(tasks)} series, {len(tasks) - len(todo)} of them done before")
    if todo:
        columns = (TextColumn("reducing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        try:
            with Progress(*columns, console=console, transient=not console.is_terminal) as bar:
                shown = bar.add_task("", total=len(todo))

                def progress(row: Row | None) -> None:
                    bar.advance(shown)
                    if row is not None and not console.is_terminal:
                        console.print(f"{row.series}: {row.status}")

                processes = 0 if scheduler else min(worker_count(workers, device), len(todo))
                run(todo, plan, processes, scheduler, progress)
        except KeyboardInterrupt:
            console.print("interrupted; repeat the command to continue", style="yellow")
            raise typer.Exit(INTERRUPTED) from None
    else:
        write_table(out)
    keys = {task.key for task in tasks}
    counts = Counter(row.status for row in read_rows(out) if row.series in keys)
    console.print(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    console.print(f"written: {relative(out / TABLE)}")
    console.print("Research use only. Not a medical device. Always compare with the original images.", style="dim")


def _write_places(path: Path, places: list[tuple[str, str]]) -> None:
    """Write a CSV of series and paths."""
    import csv
    import io

    from acdnet.files import write_atomically

    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("series", "file"), *places])
    write_atomically({path: text.getvalue().encode(errors="surrogateescape")})
