"""`acdnet simulate`: make training pairs from clean slices."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from acdnet.cli.paths import split_names
from acdnet.config import BENCHMARK, CLINICAL, PROTOCOLS
from acdnet.errors import ConfigError, InputRefused, ResourceError
from acdnet.physics.implants.kinds import KINDS, SOLIDS

if TYPE_CHECKING:
    from acdnet.data.slices import SliceRef, Source

PHANTOMS = 60
MOST_SLICES, MOST_WORKERS = 100_000, 256
WITH_SLAB = f"With --slab: {', '.join(SOLIDS)}."


def simulate(
    source: Annotated[
        str, typer.Argument(help="DICOM, NIfTI, 16-bit PNG with index.csv (folder or file), or the word phantom.")
    ],
    out: Annotated[Path, typer.Argument(help="New folder for the data set, or an unfinished one to continue.")],
    protocol: Annotated[str, typer.Option(help=f"{' or '.join(PROTOCOLS)}.")] = BENCHMARK,
    pairs: Annotated[int, typer.Option(help="Pairs per slice, each with another implant.")] = 4,
    split: Annotated[str, typer.Option(help="Comma-separated splits; by default all.")] = "",
    exclude: Annotated[str, typer.Option(help="Patients to exclude, comma-separated: PATIENT or PATIENT@SPLIT.")] = "",
    slices: Annotated[
        int,
        typer.Option(
            min=0, max=MOST_SLICES, help=f"At most N evenly spaced slices; 0 uses all, or {PHANTOMS} phantoms."
        ),
    ] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0,
    workers: Annotated[
        int,
        typer.Option(min=0, max=MOST_WORKERS, help="Processes; 0 uses one per core. The result does not depend on it."),
    ] = 0,
    size: Annotated[int, typer.Option(help="Side of the images in pixels.")] = 416,
    implants: Annotated[
        str,
        typer.Option(help=f"Comma-separated implants, or none; by default all: {', '.join(KINDS)}. {WITH_SLAB}"),
    ] = "",
    material: Annotated[str, typer.Option(help="Metal of all implants; by default that of each kind.")] = "",
    shapes: Annotated[
        Path | None, typer.Option(help="Additional metal shapes (.png, .npy, .npz), scaled and placed at random.")
    ] = None,
    masks: Annotated[
        Path | None, typer.Option(help="Masks (.npy, .npz) of the whole slice, instead of implants; mask k for pair k.")
    ] = None,
    layout: Annotated[
        str, typer.Option(help=f"store, or benchmark (gt.h5 and k.h5; only for protocol {BENCHMARK}).")
    ] = "store",
    found_metal: Annotated[
        float, typer.Option(min=0, max=1, help=f"Share of pairs with detected instead of true metal ({CLINICAL} only).")
    ] = 0.0,
    sinograms: Annotated[bool, typer.Option("--sinograms", help="Store sinograms, for methods such as NMAR.")] = False,
    tracefit: Annotated[
        bool, typer.Option("--tracefit", help="Store trace-fit images, for networks that start from them.")
    ] = False,
    slab: Annotated[
        int, typer.Option(min=0, help=f"Neighbouring slices with one implant in 3-D ({CLINICAL} only); 0: single, 2-D.")
    ] = 0,
    views: Annotated[int, typer.Option(help=f"Views in which images are projected ({CLINICAL} only).")] = 640,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip and list unusable slices.")] = False,
    preview: Annotated[Path | None, typer.Option(help="Draw a contact sheet to this PNG file.")] = None,
) -> None:
    """Simulate pairs of slices with and without metal.

    The data set serves training and evaluation. An interrupted run continues when repeated.
    """
    from acdnet.data.build import build
    from acdnet.data.recipe import Recipe
    from acdnet.data.slices import Source
    from acdnet.data.sources import open_source

    _check_preview(preview, layout)
    kinds = () if implants == "none" else tuple(split_names(implants)) or tuple(SOLIDS if slab else KINDS)
    recipe = Recipe(
        protocol, seed, pairs, size, kinds, str(shapes or ""), str(masks or ""), material, layout, sinograms,
        found_metal, tracefit, slab, views,
    )  # fmt: skip
    if source != "phantom":
        _check_apart(Path(source), out)
    found = open_source(source, -(-(slices or PHANTOMS) // max(slab, 1)), seed, split_names(exclude), slab)
    chosen = _choose(found, split_names(split), slices, kinds, slab)
    try:
        _run(build(Source(chosen, found.passed_over), recipe, out, workers or os.cpu_count() or 1, skip_bad), pairs)
    except KeyboardInterrupt:
        typer.echo("\ninterrupted; repeat the command to continue", err=True)
        raise
    _report(out, preview)


def _check_preview(preview: Path | None, layout: str) -> None:
    from acdnet.files import check_writable

    if preview is None:
        return
    if layout != "store":
        raise ConfigError("--preview needs the store layout; omit --layout")
    if preview.suffix.lower() != ".png":
        raise ConfigError(f"{preview}: the name of the contact sheet must end in .png")
    try:
        preview.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResourceError(f"{preview.parent}: cannot be created ({error.strerror})") from error
    check_writable([preview], overwrite=True)


def _check_apart(source: Path, out: Path) -> None:
    here, there = out.resolve(), source.resolve()
    if here == there or (source.is_dir() and here.is_relative_to(there)):
        raise InputRefused(f"{out}: is inside the source; choose another folder")


def _choose(found: Source, splits: list[str], slices: int, kinds: tuple[str, ...], slab: int) -> list[SliceRef]:
    """Select the slices of the splits, phantoms only with the wanted implants, and evenly spaced ones of these."""
    chosen = [ref for ref in found.slices if not splits or ref.split in splits]
    if not chosen:
        there = ", ".join(sorted({ref.split for ref in found.slices}))
        raise InputRefused(f"no slice of the split {', '.join(splits)!r}; the splits are {there}")
    chosen = [ref for ref in chosen if not ref.kinds or not kinds or set(kinds) & set(ref.kinds)]
    if not chosen:
        raise InputRefused(f"no phantom has any of the implants {', '.join(kinds)}")
    if slab:
        from acdnet.data.slabs import group_slabs

        groups = group_slabs(chosen, slab)
        some = min(-(-slices // slab), len(groups)) if slices else len(groups)
        return [ref for i in range(some) for ref in groups[i * len(groups) // some]]
    count = min(slices, len(chosen)) if slices else len(chosen)
    return [chosen[i * len(chosen) // count] for i in range(count)]


def _run(progress: Iterator[tuple[int, int]], pairs: int) -> None:
    """Show the progress."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    done, total = next(progress)  # errors appear before the bar
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("pairs"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task("simulating", total=total * pairs, completed=done * pairs)
        for done, total in progress:
            bar.update(task, completed=done * pairs, total=total * pairs)


def _report(out: Path, preview: Path | None) -> None:
    """Print a summary; exit with code 4 if slices were skipped."""
    from collections import Counter

    from acdnet.data.store import read_manifest

    manifest = read_manifest(out)
    entries = manifest["slices"]
    metal = sorted(pair["metal_pixels"] for entry in entries for pair in entry["pairs"])
    splits = Counter(entry["split"] for entry in entries)
    patients = len({entry["patient"] for entry in entries})
    typer.echo(
        f"{len(metal)} pairs of {len(entries)} slices of {patients} patients "
        f"({', '.join(f'{name} {count}' for name, count in splits.items())}); "
        f"metal {metal[0]} to {metal[-1]} pixels, median {metal[len(metal) // 2]}"
    )
    if manifest["passed_over"]:
        reasons = ", ".join(f"{count} {reason}" for reason, count in manifest["passed_over"].items())
        typer.echo(f"files not used: {reasons}")
    typer.echo(f"data set: {out}")
    if preview is not None:
        _draw(out, entries, preview)
    if manifest["skipped"]:
        for reason in manifest["skipped"][:20]:
            typer.echo(f"skipped: {reason}", err=True)
        typer.echo(f"{len(manifest['skipped'])} slices were skipped; the manifest lists them", err=True)
        raise typer.Exit(4)


def _draw(out: Path, entries: list[dict[str, Any]], preview: Path) -> None:
    """Draw the first pair of up to eight slices."""
    from acdnet.data.preview import draw_preview
    from acdnet.data.store import Store

    store, count = Store(out), min(8, len(entries))
    chosen = [n * len(entries) // count for n in range(count)]
    titles = [f"{entries[n]['pairs'][0]['kind']}, {entries[n]['pairs'][0]['metal']}" for n in chosen]
    draw_preview([(title, store.pair(n, 0)) for title, n in zip(titles, chosen, strict=True)], preview)
    typer.echo(f"picture (the first pair of {count} slices): {preview}")
