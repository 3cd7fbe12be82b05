"""Masks of metal that a user brings along: arrays in the order of the slices, or NIfTI volumes in the patient."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused
from acdnet.scans.scan import Scan

Mask = NDArray[np.bool_]
LPS_TO_RAS = np.array([-1.0, -1.0, 1.0])
SAME_MM = 0.1
"""How far two volumes of the same place may differ."""


def as_mask(values: NDArray[Any], name: str) -> Mask:
    """Take 0 and one other number, or false and true, for a mask."""
    kinds = np.unique(values)
    if len(kinds) > 2 or (len(kinds) == 2 and 0 not in kinds) or not np.isfinite(kinds).all():
        raise InputRefused(f"{name} holds {len(kinds)} different values; a mask holds 0 and 1")
    return np.asarray(values != 0)


def read_mask(path: Path, scan: Scan, shapes: list[tuple[int, int]]) -> list[Mask]:
    """Read a mask for the slices of a scan, which have the given shapes."""
    from acdnet.scans.nifti import is_nifti

    if not path.is_file():
        raise InputRefused(f"{path}: no such file")
    masks = _from_nifti(path, scan, shapes) if is_nifti(path) else _from_array(path, shapes)
    if not any(mask.any() for mask in masks):
        raise InputRefused(f"{path}: marks no pixel of the scan as metal")
    return masks


def _from_array(path: Path, shapes: list[tuple[int, int]]) -> list[Mask]:
    from acdnet.scans.arrays import ArrayScan

    scan = ArrayScan.open(path, (1.0, 1.0))
    if len(scan) != len(shapes):
        raise InputRefused(f"{path}: has {len(scan)} slices, the scan {len(shapes)}")
    wrong = [n for n, shape in enumerate(shapes) if scan.slices[n].shape != shape]
    if wrong:
        raise InputRefused(f"{path}: slices are {scan.slices[0].shape}, that of the scan {shapes[wrong[0]]}")
    whole = as_mask(np.asarray(scan.slices), str(path))
    return list(whole)


def _from_nifti(path: Path, scan: Scan, shapes: list[tuple[int, int]]) -> list[Mask]:
    """Look up every pixel of the scan in the volume, by its place in the patient."""
    from acdnet.scans.dicom import DicomScan
    from acdnet.scans.nifti import NiftiScan

    volume = NiftiScan(path)
    marked = as_mask(volume.raw, str(path))
    if isinstance(scan, DicomScan):
        return [_looked_up(marked, volume.volume.affine, scan, n, shape) for n, shape in enumerate(shapes)]
    if not isinstance(scan, NiftiScan):
        raise InputRefused(f"{path}: a NIfTI mask needs a scan that knows where it lies; give an array (.npy)")
    same = volume.raw.shape == scan.raw.shape and np.allclose(volume.volume.affine, scan.volume.affine, atol=SAME_MM)
    if not same:
        raise InputRefused(f"{path}: does not lie where the scan lies (shape or affine differ)")
    return list(volume.slices != 0)


def _looked_up(marked: Mask, affine: Any, scan: Any, number: int, shape: tuple[int, int]) -> Mask:
    origin, down, across = scan.patient_axes(number)
    rows, columns = (np.arange(count)[:, None] for count in shape)
    places = origin + (rows * down)[:, None, :] + (columns * across)[None, :, :]
    inverse = np.linalg.inv(np.asarray(affine, float))
    voxels = np.rint((places * LPS_TO_RAS) @ inverse[:3, :3].T + inverse[:3, 3]).astype(int)
    inside = ((voxels >= 0) & (voxels < marked.shape)).all(-1)
    i, j, k = np.where(inside[..., None], voxels, 0).transpose(2, 0, 1)
    return np.asarray(marked[i, j, k] & inside)
