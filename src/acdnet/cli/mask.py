"""`acdnet mask`: find the metal of a scan and write its mask."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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


def mask(
    source: Source,
    out: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The mask: .nii, .nii.gz or .npy; 1 is metal.")],
    metal_threshold: MetalThreshold = None,
    segmentation: SegmentationKind = "",
    series: SeriesNumber = None,
    pixel_mm: PixelSize = None,
    workers: Annotated[
        int, typer.Option(min=0, max=256, help="Slices in parallel, one core each; 0 uses all cores, at most 8.")
    ] = 0,
    accept_non_axial: AcceptNonAxial = False,
    accept_lossy: AcceptLossy = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Find the metal of a CT scan and write it as a mask.

    Doubtful objects are listed and left out. Research use only; not a medical device.
    """
    from rich.console import Console

    from acdnet.io.open import Opening, open_scan
    from acdnet.methods.metal import LOCALISER, choose_segmentation
    from acdnet.reduction.mask_file import check_mask_path, write_mask
    from acdnet.reduction.objects import Objects
    from acdnet.reduction.parallel import core_count
    from acdnet.reduction.report import doubts
    from acdnet.reduction.scan_metal import find_scan_metal

    console = Console(highlight=False, soft_wrap=True, markup=False)
    how = choose_segmentation(segmentation, metal_threshold)
    check_mask_path(out, force)
    scan = open_scan(source, Opening(series, pixel_mm, accept_non_axial, accept_lossy))
    with console.status("finding metal"):
        found = find_scan_metal(scan, how, workers=core_count(workers))
    write_mask(scan, found.masks, out)
    objects = Objects.decide(found.objects, (), ()).reports()
    with_metal = [int(one.sum()) for one in found.masks if one.any()]
    console.print(
        f"{len(found.masks)} slices, {len(with_metal)} with metal ({sum(with_metal)} pixels)"
        + (f", {len(objects)} objects" if how.kind == LOCALISER else "")
    )
    for one in objects:
        console.print(
            f"object {one.number}: {one.decision}, {one.probability:.0%}, slices {one.first_slice} to "
            f"{one.last_slice}, {one.pixels} pixels, up to {one.peak_hu:.0f} HU"
        )
    for text in doubts(objects):
        console.print(text, style="yellow")
    console.print(f"written: {relative(out)}")
