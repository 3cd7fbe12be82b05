"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Source = Annotated[
    Path, typer.Argument(metavar="INPUT", help="DICOM folder or file, NIfTI, 16-bit PNG, or .npy in HU.")
]
MetalThreshold = Annotated[
    float | None,
    typer.Option(help="Find metal without the localiser: regions grow from pixels above this value in HU."),
]
SegmentationKind = Annotated[
    str,
    typer.Option(
        help="How metal is found: localiser (the default), grown (the default with --metal-threshold), or threshold "
        "(every pixel above the threshold, as in the paper)."
    ),
]
SeriesNumber = Annotated[int | None, typer.Option(min=1, help="Number of the series, if there are several.")]
PixelSize = Annotated[float | None, typer.Option(help="Pixel size in mm, for PNG and .npy.")]
AcceptNonAxial = Annotated[bool, typer.Option("--accept-non-axial", help="Accept non-axial slices.")]
AcceptLossy = Annotated[bool, typer.Option("--accept-lossy", help="Accept lossy compression.")]
