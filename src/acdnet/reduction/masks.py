"""Metal masks from the user: arrays in slice order, or NIfTI volumes in patient coordinates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from acdnet.errors import InputRefused
from acdnet.io.scan import Scan
from acdnet.io.slices import Mask
from acdnet.limits import as_mask

LPS_TO_RAS = np.array([-1.0, -1.0, 1.0])
AFFINE_TOLERANCE_MM = 0.1
"""Largest difference of the affines of matching volumes."""


def read_mask(path: Path, scan: Scan, shapes: list[tuple[int, int]]) -> list[Mask]:
    """Read a mask for the slices of a scan with the given shapes."""
    from acdnet.io.nifti import is_nifti

    if not path.is_file():
        raise InputRefused(f"{path}: no such file")
    masks = _from_nifti(path, scan, shapes) if is_nifti(path) else _from_array(path, shapes)
    if not any(mask.any() for mask in masks):
        raise InputRefused(f"{path}: contains no metal inside the scan")
    return masks


def _from_array(path: Path, shapes: list[tuple[int, int]]) -> list[Mask]:
    from acdnet.io.arrays import ArrayScan

    scan = ArrayScan.open(path, (1.0, 1.0))
    if len(scan) != len(shapes):
        raise InputRefused(f"{path}: has {len(scan)} slices, but the scan {len(shapes)}")
    wrong = [n for n, shape in enumerate(shapes) if scan.slices[n].shape != shape]
    if wrong:
        raise InputRefused(
            f"{path}: slices are {scan.slices[0].shape}, but slice {wrong[0] + 1} of the scan is {shapes[wrong[0]]}"
        )
    whole = as_mask(np.asarray(scan.slices), str(path))
    return list(whole)


def _from_nifti(path: Path, scan: Scan, shapes: list[tuple[int, int]]) -> list[Mask]:
    """Look up every pixel of the scan in the volume by its position in the patient."""
    from acdnet.io.dicom.scan import DicomScan
    from acdnet.io.nifti import NiftiScan

    volume = NiftiScan(path)
    marked = as_mask(volume.raw, str(path))
    if isinstance(scan, DicomScan):
        return [_lookup(marked, volume.volume.affine, scan, n, shape) for n, shape in enumerate(shapes)]
    if not isinstance(scan, NiftiScan):
        raise InputRefused(f"{path}: a NIfTI mask needs a DICOM or NIfTI scan; give a .npy array instead")
    same = volume.raw.shape == scan.raw.shape and np.allclose(
        volume.volume.affine, scan.volume.affine, atol=AFFINE_TOLERANCE_MM
    )
    if not same:
        raise InputRefused(f"{path}: does not match the scan (shape or affine differ)")
    return list(volume.slices != 0)


def _lookup(marked: Mask, affine: Any, scan: Any, number: int, shape: tuple[int, int]) -> Mask:
    origin, down, across = scan.patient_axes(number)
    rows, columns = (np.arange(count)[:, None] for count in shape)
    places = origin + (rows * down)[:, None, :] + (columns * across)[None, :, :]
    inverse = np.linalg.inv(np.asarray(affine, float))
    voxels = np.rint((places * LPS_TO_RAS) @ inverse[:3, :3].T + inverse[:3, 3]).astype(int)
    inside = ((voxels >= 0) & (voxels < marked.shape)).all(-1)
    i, j, k = np.where(inside[..., None], voxels, 0).transpose(2, 0, 1)
    return np.asarray(marked[i, j, k] & inside)
