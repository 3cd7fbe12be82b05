"""`acdnet simulate`: clean slices in, training pairs out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from acdnet.errors import InputRefused


def simulate(
    source: Annotated[
        str, typer.Argument(help="Folder or file: DICOM, NIfTI, 16-bit PNG with index.csv; or the word 'phantom'.")
    ],
    out: Annotated[Path, typer.Argument(help="New folder for the data set; an unfinished one is continued.")],
    protocol: Annotated[str, typer.Option(help="syndeeplesion or clinical.")] = "syndeeplesion",
    pairs: Annotated[int, typer.Option(help="Pairs made of every slice, each with another implant.")] = 4,
    split: Annotated[str, typer.Option(help="Only slices of these splits, with commas; all without it.")] = "",
    exclude: Annotated[str, typer.Option(help="Patients to leave out, with commas; PATIENT, or PATIENT@SPLIT.")] = "",
    slices: Annotated[int, typer.Option(help="At most so many slices, evenly taken (0: all; phantoms: 60).")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes (0: one a core). The result does not depend on it.")] = 0,
    size: Annotated[int, typer.Option(help="Side of the pictures in pixels.")] = 416,
    implants: Annotated[str, typer.Option(help="Kinds of implants, with commas; all without it.")] = "",
    shapes: Annotated[
        Path | None, typer.Option(help="Metal shapes (png, npy, npz) to scale, turn and place too.")
    ] = None,
    masks: Annotated[Path | None, typer.Option(help="Masks (npy, npz) to use as they are, in their order.")] = None,
    layout: Annotated[str, typer.Option(help="store (compact), or benchmark (gt.h5, k.h5).")] = "store",
    sinograms: Annotated[bool, typer.Option(help="Keep sinograms in the store, for BHC and NMAR.")] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Skip slices that cannot be used, and list them.")
    ] = False,
    preview: Annotated[Path | None, typer.Option(help="Draw a contact sheet into this PNG file.")] = None,
) -> None:
    """Put metal into clean CT slices and write what a scanner would show, for training and evaluation."""
    from acdnet.data.build import build
    from acdnet.data.recipe import Recipe
    from acdnet.data.sources import open_source
    from acdnet.files import check_writable

    if preview is not None:
        check_writable([preview], overwrite=True)
        if layout != "store":
            raise InputRefused("--preview draws a store; leave out --layout")
    settings = {"kinds": tuple(_names(implants))} if implants else {}
    recipe = Recipe(
        protocol, seed, pairs, size, shapes=str(shapes or ""), masks=str(masks or ""),
        layout=layout, sinograms=sinograms, **settings,
    )  # fmt: skip
    if source != "phantom" and out.resolve() == Path(source).resolve():
        raise InputRefused(f"{out}: is the source itself; choose another folder")
    wanted = _names(split)
    found = open_source(source, slices or 60, seed, _names(exclude))
    chosen = [ref for ref in found if not wanted or ref.split in wanted]
    if not chosen:
        there = ", ".join(sorted({ref.split for ref in found}))
        raise InputRefused(f"{source}: no slice of the split {split!r}; there are {there}")
    if slices:
        chosen = [chosen[i * len(chosen) // min(slices, len(chosen))] for i in range(min(slices, len(chosen)))]

    _run(build(chosen, recipe, out, workers or os.cpu_count() or 1, skip_bad), pairs)
    _report(out, preview)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _run(progress: object, pairs: int) -> None:
    """Show a bar while slices are made."""
    from collections.abc import Iterator
    from typing import cast

    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("pairs"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task("simulating", total=None)
        for done, total in cast(Iterator[tuple[int, int]], progress):
            bar.update(task, completed=done * pairs, total=total * pairs)


def _report(out: Path, preview: Path | None) -> None:
    """Say what was made; leave with 4 where slices were skipped."""
    from collections import Counter

    from acdnet.data.store import Store, read_manifest

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
    typer.echo(f"data set: {out}")
    if preview is not None:
        from acdnet.data.preview import draw_preview

        store, count = Store(out), min(8, len(entries))
        chosen = [n * len(entries) // count for n in range(count)]
        titles = [f"{entries[n]['pairs'][0]['kind']}, {entries[n]['pairs'][0]['metal']}" for n in chosen]
        draw_preview([(title, store.pair(n, 0)) for title, n in zip(titles, chosen, strict=True)], preview)
        typer.echo(f"picture: {preview}")
    if manifest["skipped"]:
        for reason in manifest["skipped"][:20]:
            typer.echo(f"skipped: {reason}", err=True)
        typer.echo(f"{len(manifest['skipped'])} slices were skipped; the manifest lists them", err=True)
        raise typer.Exit(4)
