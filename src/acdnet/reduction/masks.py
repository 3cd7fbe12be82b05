"""Masks of metal that a user brings along: arrays (.npy) or NIfTI volumes, slices from bottom to top."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused


def read_mask(path: Path, shapes: list[tuple[int, int]]) -> list[NDArray[np.bool_]]:
    """Read a mask for slices of the given shapes; 0 is no metal, everything else is."""
    from acdnet.scans.arrays import ArrayScan
    from acdnet.scans.nifti import NiftiScan, is_nifti

    if not path.is_file():
        raise InputRefused(f"{path}: no such file")
    scan = NiftiScan(path) if is_nifti(path) else ArrayScan.open(path, (1.0, 1.0))
    if len(scan) != len(shapes):
        raise InputRefused(f"{path}: has {len(scan)} slices, the scan {len(shapes)}")
    masks = []
    for n, shape in enumerate(shapes):
        values = scan.read(n).hu
        if values.shape != shape:
            raise InputRefused(f"{path}: slice {n + 1} is {values.shape}, that of the scan {shape}")
        kinds = np.unique(values)
        if len(kinds) > 2 or not np.isfinite(kinds).all():
            raise InputRefused(f"{path}: slice {n + 1} holds {len(kinds)} different values; a mask holds 0 and 1")
        masks.append(values != 0)
    return masks
