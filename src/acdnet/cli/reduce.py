"""`acdnet reduce`: reduce the metal artifacts of a scan."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from acdnet.cli import INTERRUPTED
from acdnet.cli.options import (
    AcceptLossy,
    AcceptNonAxial,
    MetalThreshold,
    PixelSize,
    SegmentationKind,
    SeriesNumber,
    Source,
)
from acdnet.cli.paths import relative
from acdnet.errors import ConfigError, InputRefused
from acdnet.messages import printable
from acdnet.methods.registry import check_method, method_help

DONE_IN_PART = 4
"""Exit code: finished, but files were skipped or slices with metal were not reduced."""


def reduce(
    source: Source,
    out: Annotated[Path, typer.Argument(metavar="OUTPUT", help="New folder for the result and its report.")],
    method: Annotated[str, typer.Option(help=f"One of {method_help()}.")] = "acdnet",
    metal_threshold: MetalThreshold = None,
    segmentation: SegmentationKind = "",
    mask: Annotated[
        Path | None, typer.Option(help="Your own metal mask (NIfTI, or .npy in slice order) instead of detection.")
    ] = None,
    keep: Annotated[
        str, typer.Option(help="Objects of an earlier report that are metal: numbers, comma-separated.")
    ] = "",
    drop: Annotated[str, typer.Option(help="Objects of an earlier report that are not metal.")] = "",
    series: SeriesNumber = None,
    pixel_mm: PixelSize = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps, xpu ...")] = "auto",
    workers: Annotated[
        int, typer.Option(min=0, max=256, help="Slices in parallel, one core each; 0 uses all cores, at most 8.")
    ] = 0,
    accept_non_axial: AcceptNonAxial = False,
    accept_lossy: AcceptLossy = False,
    keep_private: Annotated[bool, typer.Option("--keep-private", help="Keep private DICOM elements.")] = False,
    ignore_others: Annotated[
        bool, typer.Option("--ignore-others", help="Exit with 0 although there were files that are not CT slices.")
    ] = False,
) -> None:
    """Reduce the metal artifacts of a CT scan.

    The input is not modified. An interrupted run continues when repeated. Research use only; not a medical device.
    """
    from rich.console import Console

    from acdnet.io.open import Opening, open_scan
    from acdnet.methods.metal import choose_segmentation

    console = Console(highlight=False, soft_wrap=True, markup=False)
    how = choose_segmentation(segmentation, metal_threshold)
    numbers = [_numbers(text, name) for text, name in ((keep, "--keep"), (drop, "--drop"))]
    from acdnet.reduction.output import check_output, partial_of

    check_output(source, out.absolute())
    check_method(method)
    if mask is not None and not mask.is_file():
        raise InputRefused(f"{mask}: no such file")
    if partial_of(out.absolute()).exists():
        console.print("continuing an earlier run")
    with console.status("reading"):
        scan = open_scan(source, Opening(series, pixel_mm, accept_non_axial, accept_lossy))
    about = ", ".join(text for name, text in scan.about.items() if not name.endswith("sha256"))
    console.print(f"input: {scan.kind}, {printable(about)}")
    for text in scan.warnings:
        console.print(f"note: {printable(text)}", style="yellow")

    from acdnet.fast.malloc import keep_freed_memory
    from acdnet.reduction.files import run_job
    from acdnet.reduction.settings import Settings

    keep_freed_memory()
    settings = Settings(method, how, mask, device, workers, keep_private, *numbers)
    printed = len(scan.warnings)
    try:
        finished = _with_bar(console, lambda progress: run_job(scan, source, out, settings, progress))
    except KeyboardInterrupt:
        console.print("interrupted; repeat the command to continue", style="yellow")
        raise typer.Exit(INTERRUPTED) from None
    for text in scan.warnings[printed:]:
        console.print(f"note: {printable(text)}", style="yellow")
    _summarise(finished, console)
    if not (finished.all_reduced if ignore_others else finished.complete):
        raise typer.Exit(DONE_IN_PART)


def _numbers(text: str, name: str) -> tuple[int, ...]:
    """Read numbers of objects."""
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise ConfigError(f"{name} {text!r:.60}: expected numbers, comma-separated") from error


def _with_bar(console: Any, run: Any) -> Any:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<18}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=not console.is_terminal) as bar:
        tasks: dict[str, Any] = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done)

        return run(progress)


def _summarise(finished: Any, console: Any) -> None:
    """Print the counts, the cautions and the written files."""
    counts = Counter(report.status for report in finished.reports)
    reasons = {"unchanged": "no metal", "passed through": "see below"}
    summary = ", ".join(
        f"{count} {name}" + (f" ({reasons[name]})" if name in reasons else "") for name, count in sorted(counts.items())
    )
    slices = "1 slice" if len(finished.reports) == 1 else f"{len(finished.reports)} slices"
    console.print(f"{slices} by {finished.label}: {summary}")
    from acdnet.reduction.report import cautions

    for text in cautions(finished.reports, finished.objects.reports()):
        console.print(text, style="yellow")
    for reason, count in finished.skipped.items():
        console.print(f"skipped: {count} {reason}", style="yellow")
    for path in finished.files:
        console.print(f"written: {relative(path)}")
    console.print("Research use only. Not a medical device. Always compare with the original images.", style="dim")
