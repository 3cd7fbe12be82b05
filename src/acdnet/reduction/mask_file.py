"""Write the metal of a scan as a mask: `acdnet mask`."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import ConfigError, InputRefused
from acdnet.files import check_writable, write_atomically
from acdnet.io.nifti import ENDINGS, NiftiScan, axial_view
from acdnet.io.scan import SHORT_NOTICE, Scan
from acdnet.io.slices import Mask
from acdnet.reduction.masks import LPS_TO_RAS

EVEN_MM = 0.1
"""Slices of a NIfTI mask may be displaced by this much."""


def check_mask_path(path: Path, overwrite: bool) -> None:
    """Refuse names of other formats, and places that cannot be written."""
    if not path.name.lower().endswith((".npy", *ENDINGS)):
        raise ConfigError(f"{path}: the name must end in .npy, .nii or .nii.gz")
    check_writable([path], overwrite)


def write_mask(scan: Scan, masks: Sequence[Mask], path: Path) -> None:
    """Write masks as an array in slice order, or as a volume in patient coordinates; 1 is metal."""
    if len({mask.shape for mask in masks}) > 1:
        raise InputRefused("the slices have different sizes, so that their masks do not fit into one file")
    stack = np.stack(masks).astype(np.uint8)
    buffer = BytesIO()
    if path.name.lower().endswith(".npy"):
        np.save(buffer, stack)
        write_atomically({path: buffer.getvalue()})
        return
    import nibabel

    image: Any = nibabel.Nifti1Image(*_volume(scan, stack))
    image.header["descrip"] = SHORT_NOTICE
    image.header.set_xyzt_units("mm")
    data = image.to_bytes()
    write_atomically({path: gzip.compress(data, 6, mtime=0) if path.name.lower().endswith(".gz") else data})


def _volume(scan: Scan, stack: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Return the voxels of a NIfTI volume and their affine."""
    from acdnet.io.dicom.scan import DicomScan

    if isinstance(scan, NiftiScan):
        voxels = np.zeros(scan.raw.shape, np.uint8)
        axial_view(voxels, scan.axes)[:] = stack
        return voxels, scan.volume.affine
    if not isinstance(scan, DicomScan):
        raise InputRefused(f"{scan.kind}: has no position in the patient; give the mask a name that ends in .npy")
    places = [scan.patient_axes(n) for n in range(len(scan))]
    first, down, across = places[0]
    step = (places[-1][0] - first) / (len(places) - 1) if len(places) > 1 else np.cross(across, down)
    if any(np.abs(first + n * step - origin).max() > EVEN_MM for n, (origin, _, _) in enumerate(places)):
        raise InputRefused("the slices are not evenly spaced; give the mask a name that ends in .npy")
    affine = np.eye(4)
    affine[:3] = np.stack([across, down, step, first], axis=1) * LPS_TO_RAS[:, None]
    return stack.transpose(2, 1, 0), affine
