"""`acdnet reduce`: a scan in, the same scan with the streaks reduced out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from acdnet.errors import InputRefused
from acdnet.methods.registry import check_method, method_help

INTERRUPTED = 130
DONE_IN_PART = 4
"""Exit code: done, but files were skipped or slices with metal left as they came."""


def reduce(
    source: Annotated[
        Path, typer.Argument(metavar="INPUT", help="DICOM folder or file, NIfTI, 16-bit PNG, or .npy in HU.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUTPUT", help="New folder: reduced, difference, maps, report.")],
    method: Annotated[str, typer.Option(help=f"One of {method_help()}.")] = "acdnet",
    metal_threshold: Annotated[float, typer.Option(help="HU above which something is metal for sure.")] = 2500.0,
    segmentation: Annotated[
        str, typer.Option(help="auto, or threshold: all pixels above the threshold, as in the paper.")
    ] = "auto",
    mask: Annotated[
        Path | None,
        typer.Option(help="Metal found elsewhere: NIfTI, or .npy in the order of the report."),
    ] = None,
    series: Annotated[int | None, typer.Option(min=1, help="Which series, where a folder holds several.")] = None,
    pixel_mm: Annotated[float | None, typer.Option(help="Pixel size of PNG and .npy, which do not say.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1 ...")] = "auto",
    workers: Annotated[int, typer.Option(min=0, help="Slices at a time, a core each (0: all cores).")] = 0,
    accept_non_axial: Annotated[bool, typer.Option("--accept-non-axial", help="Take slices in other planes.")] = False,
    accept_lossy: Annotated[bool, typer.Option("--accept-lossy", help="Take images compressed with loss.")] = False,
    keep_private: Annotated[bool, typer.Option("--keep-private", help="Keep private DICOM elements.")] = False,
) -> None:
    """Reduce the metal artifacts of a CT scan; the original is not touched. Research use only."""
    from rich.console import Console

    from acdnet.io.open import Opening, open_scan
    from acdnet.methods.metal import Segmentation

    console = Console(highlight=False, soft_wrap=True, markup=False)
    how = Segmentation(segmentation, metal_threshold)
    from acdnet.reduction.output import check_output, partial_of

    check_output(source, out.absolute())
    check_method(method)
    if mask is not None and not mask.is_file():
        raise InputRefused(f"{mask}: no such file")
    if partial_of(out.absolute()).exists():
        console.print("going on with an earlier run")
    with console.status("reading ..."):
        scan = open_scan(source, Opening(series, pixel_mm, accept_non_axial, accept_lossy))
    console.print(f"input: {scan.kind}, {', '.join(v for k, v in scan.about.items() if not k.endswith('sha256'))}")
    if metal_threshold >= scan.read(0).ceiling_hu:
        console.print("note: no pixel can be as bright as the threshold; no metal will be found", style="yellow")
    for text in scan.warnings:
        console.print(f"note: {text}", style="yellow")

    from acdnet.fast.malloc import keep_freed_memory
    from acdnet.reduction.files import Settings, run_job

    keep_freed_memory()
    settings = Settings(method, how, mask, device, workers, keep_private)
    told = len(scan.warnings)
    try:
        finished = _with_bar(console, lambda progress: run_job(scan, source, out, settings, progress))
    except KeyboardInterrupt:
        console.print("interrupted; give the same command again to go on where it was", style="yellow")
        raise typer.Exit(INTERRUPTED) from None
    for text in scan.warnings[told:]:
        console.print(f"note: {text}", style="yellow")
    _tell(finished, console)
    if not finished.complete:
        raise typer.Exit(DONE_IN_PART)


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


def _tell(finished: Any, console: Any) -> None:
    """Say what was found, what was done, and where the result is."""
    counts = Counter(report.status for report in finished.reports)
    reasons = {"unchanged": "no metal", "passed through": "see below"}
    told = ", ".join(
        f"{count} {name}" + (f" ({reasons[name]})" if name in reasons else "") for name, count in sorted(counts.items())
    )
    console.print(f"{len(finished.reports)} slices by {finished.label}: {told}")
    from acdnet.reduction.report import cautions

    for text in cautions(finished.reports):
        console.print(text, style="yellow")
    for reason, count in finished.skipped.items():
        console.print(f"skipped: {count} {reason}", style="yellow")
    here = Path.cwd()
    for path in finished.files:
        console.print(f"written: {path.relative_to(here) if path.is_relative_to(here) else path}")
    console.print("Research use only. Not a medical device. Look at the original images too.", style="dim")
