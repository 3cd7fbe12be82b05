"""`acdnet simulate`: clean slices in, training pairs out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from acdnet.errors import ConfigError, InputRefused, ResourceError

if TYPE_CHECKING:
    from acdnet.data.slices import SliceRef, Source

IMPLANTS = "hip-stem, hip-cup, nail, spine-screws, spine-rods, plate, fillings, clips, coil, sternal-wires, leads"
IMPLANTS += ", port, pacemaker"
PHANTOMS = 60


def simulate(
    source: Annotated[
        str, typer.Argument(help="Folder or file: DICOM, NIfTI, 16-bit PNG with index.csv; or the word 'phantom'.")
    ],
    out: Annotated[Path, typer.Argument(help="New folder for the data set; an unfinished one is continued.")],
    protocol: Annotated[str, typer.Option(help="syndeeplesion or clinical.")] = "syndeeplesion",
    pairs: Annotated[int, typer.Option(help="Pairs made of every slice, each with another implant.")] = 4,
    split: Annotated[str, typer.Option(help="Only slices of these splits, with commas; all without it.")] = "",
    exclude: Annotated[str, typer.Option(help="Patients to leave out, with commas; PATIENT, or PATIENT@SPLIT.")] = "",
    slices: Annotated[
        int, typer.Option(min=0, help=f"At most so many, evenly taken (0: all; {PHANTOMS} phantoms).")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    workers: Annotated[int, typer.Option(min=0, help="Processes (0: one a core). The result is the same.")] = 0,
    size: Annotated[int, typer.Option(help="Side of the pictures in pixels.")] = 416,
    implants: Annotated[str, typer.Option(help=f"Kinds of implants, with commas, or none. All: {IMPLANTS}.")] = "",
    material: Annotated[str, typer.Option(help="Metal of all implants, instead of what each is made of.")] = "",
    shapes: Annotated[
        Path | None, typer.Option(help="Metal shapes (png, npy, npz) to scale, turn and place as well.")
    ] = None,
    masks: Annotated[
        Path | None,
        typer.Option(help="Masks (npy, npz) that cover the slice: mask k is used for pair k of every slice."),
    ] = None,
    layout: Annotated[
        str, typer.Option(help="store (compact), or benchmark (gt.h5, k.h5; its protocol only).")
    ] = "store",
    found_metal: Annotated[
        float, typer.Option(min=0, max=1, help="Share of pairs whose metal is what reduce finds (clinical only).")
    ] = 0.0,
    sinograms: Annotated[
        bool, typer.Option(help="Keep sinograms, for methods that begin with raw data: NMAR, ...")
    ] = False,
    tracefit: Annotated[
        bool, typer.Option(help="Keep images after a trace fit, for networks that begin with them.")
    ] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Skip slices that cannot be used, and list them.")
    ] = False,
    preview: Annotated[Path | None, typer.Option(help="Draw a contact sheet of a store into this PNG file.")] = None,
) -> None:
    """Put metal into clean CT slices and write what a scanner would show, for training and evaluation."""
    from acdnet.data.build import build
    from acdnet.data.recipe import Recipe
    from acdnet.data.slices import Source
    from acdnet.data.sources import open_source
    from acdnet.physics.implants.library import KINDS

    _check_preview(preview, layout)
    kinds = () if implants == "none" else tuple(_names(implants)) or tuple(KINDS)
    recipe = Recipe(
        protocol, seed, pairs, size, kinds, str(shapes or ""), str(masks or ""), material, layout, sinograms,
        found_metal, tracefit,
    )  # fmt: skip
    if source != "phantom":
        _check_apart(Path(source), out)
    found = open_source(source, slices or PHANTOMS, seed, _names(exclude))
    chosen = _choose(found, _names(split), slices, kinds)
    try:
        _run(build(Source(chosen, found.passed_over), recipe, out, workers or os.cpu_count() or 1, skip_bad), pairs)
    except KeyboardInterrupt:
        typer.echo("\nstopped; the same command goes on where it was", err=True)
        raise
    _report(out, preview)


def _check_preview(preview: Path | None, layout: str) -> None:
    from acdnet.files import check_writable

    if preview is None:
        return
    if layout != "store":
        raise ConfigError("--preview draws a store; leave out --layout")
    if preview.suffix.lower() != ".png":
        raise ConfigError(f"{preview}: the contact sheet is a PNG file; its name must end in .png")
    try:
        preview.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResourceError(f"{preview.parent}: cannot be made ({error.strerror})") from error
    check_writable([preview], overwrite=True)


def _check_apart(source: Path, out: Path) -> None:
    here, there = out.resolve(), source.resolve()
    if here == there or (source.is_dir() and here.is_relative_to(there)):
        raise InputRefused(f"{out}: lies in the source; nothing is written there, choose another folder")


def _choose(found: Source, splits: list[str], slices: int, kinds: tuple[str, ...]) -> list[SliceRef]:
    """Take the slices of the splits, phantoms only with the wanted implants, and of these evenly as many as asked."""
    chosen = [ref for ref in found.slices if not splits or ref.split in splits]
    if not chosen:
        there = ", ".join(sorted({ref.split for ref in found.slices}))
        raise InputRefused(f"no slice of the split {', '.join(splits)!r}; there are {there}")
    chosen = [ref for ref in chosen if not ref.kinds or not kinds or set(kinds) & set(ref.kinds)]
    if not chosen:
        raise InputRefused(f"no phantom has any of the implants {', '.join(kinds)}")
    count = min(slices, len(chosen)) if slices else len(chosen)
    return [chosen[i * len(chosen) // count] for i in range(count)]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _run(progress: Iterator[tuple[int, int]], pairs: int) -> None:
    """Show a bar while slices are made."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    done, total = next(progress)  # refusals come before the bar
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("pairs"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task("simulating", total=total * pairs, completed=done * pairs)
        for done, total in progress:
            bar.update(task, completed=done * pairs, total=total * pairs)


def _report(out: Path, preview: Path | None) -> None:
    """Say what was made; leave with 4 where slices were skipped."""
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
        typer.echo(f"passed over: {reasons}")
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
