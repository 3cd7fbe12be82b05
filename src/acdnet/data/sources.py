"""Sources of clean slices: DICOM, NIfTI, 16-bit PNG with an index, or phantoms."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from acdnet.data.slices import SliceRef, Source, assign_splits, pseudonym
from acdnet.errors import InputRefused
from acdnet.files import read_limited, sha256
from acdnet.io.arrays import read_png
from acdnet.io.nifti import axial_view, is_nifti, open_nifti, spacings, whole
from acdnet.io.nifti_checks import check_geometry
from acdnet.io.slices import Slice

INDEX = "index.csv"
PHANTOM_STEP_MM = 3.0
"""Distance of the slices of a phantom."""
LARGEST_INDEX = 64 * 2**20


def open_source(source: str, count: int = 60, seed: int = 0, exclude: Sequence[str] = (), slab: int = 0) -> Source:
    """List the slices of a source; `phantom` simulates `count` patients from a seed, with `slab` slices if not 0.

    `exclude` lists patients to leave out, PATIENT or PATIENT@SPLIT. A patient in two splits is refused.
    """
    found = _list(source, count, seed, slab)
    unknown = [name for name in exclude if not any(_is_named(ref, name) for ref in found.slices)]
    if unknown:
        raise InputRefused(f"{source}: has no patient {unknown[0]!r} to exclude")
    kept = [ref for ref in found.slices if not any(_is_named(ref, name) for name in exclude)]
    if not kept and found.slices:
        raise InputRefused(f"{source}: all slices are excluded")
    seen: dict[str, str] = {}
    for ref in kept:
        if (first := seen.setdefault(ref.patient, ref.split)) != ref.split:
            raise InputRefused(
                f"{source}: patient {ref.patient} is in {first} and in {ref.split}; "
                f"exclude one with --exclude {ref.patient}@{first} or --exclude {ref.patient}@{ref.split}"
            )
    return Source(_with_unique_names(kept), found.passed_over)


def _is_named(ref: SliceRef, name: str) -> bool:
    return name in (ref.patient, f"{ref.patient}@{ref.split}")


def _with_unique_names(slices: list[SliceRef]) -> list[SliceRef]:
    """Make equal names unique (a/b.png and a-b.png)."""
    times = Counter(ref.name for ref in slices)
    return [replace(ref, name=f"{ref.name}-{pseudonym(ref.place)}") if times[ref.name] > 1 else ref for ref in slices]


def _list(source: str, count: int, seed: int, slab: int) -> Source:
    if source == "phantom":
        if count < 1:
            raise InputRefused(f"the number of phantoms is {count}; it must be at least 1")
        return Source(phantom_volumes(count, seed, slab) if slab else phantom_slices(count, seed))
    path = Path(source)
    if not path.exists():
        raise InputRefused(f"{source}: no such file or folder; use phantom for simulated slices")
    if path.is_file() and path.name == INDEX:
        path = path.parent
    if (path / INDEX).is_file():
        return Source(indexed_slices(path))
    if volumes := _nifti_files(path):
        return Source(nifti_slices(volumes))
    from acdnet.data.dicom_slices import dicom_slices

    found = dicom_slices(path)
    if not found.slices:
        there = ", ".join(f"{number} {reason}" for reason, number in found.passed_over.items()) or "no files"
        raise InputRefused(
            f"{path}: no CT slices found ({there}); give DICOM, NIfTI (.nii, .nii.gz) or PNGs with an {INDEX}"
        )
    return found


def phantom_slices(count: int, seed: int) -> list[SliceRef]:
    """List phantoms, each of another patient, alternating between the sites."""
    from acdnet.physics.phantom import SITES

    sites = sorted(SITES)
    names = [f"phantom-{seed}-{number:05d}" for number in range(count)]
    splits = assign_splits(names)
    slices = []
    for n, name in enumerate(names):
        site = sites[n % len(sites)]
        read = partial(_read_phantom, site, seed, n)
        slices.append(SliceRef(name, name, splits[name], read, {"site": site}, SITES[site][2], name))
    return slices


def phantom_volumes(count: int, seed: int, slices: int) -> list[SliceRef]:
    """List some neighbouring slices of each phantom."""
    found = []
    for ref in phantom_slices(count, seed):
        site, number = ref.notes["site"], int(ref.name.rsplit("-", 1)[1])
        for k in range(slices):
            name, z = f"{ref.name}-{k:03d}", k * PHANTOM_STEP_MM
            read = partial(_read_phantom, site, seed, number, z - (slices - 1) / 2 * PHANTOM_STEP_MM)
            place = replace(ref, name=name, read=read, kinds=(), place=name)
            found.append(replace(place, stack=ref.name, z_mm=z, step_mm=PHANTOM_STEP_MM))
    return found


def _read_phantom(site: str, seed: int, number: int, z_mm: float | None = None) -> Slice:
    from acdnet.physics.phantom import make_phantom

    phantom = make_phantom(site, seed * 1_000_003 + number, z_mm=z_mm)
    return Slice(phantom.hu, (phantom.pixel_mm, phantom.pixel_mm), sha256=sha256(phantom.hu.tobytes()))


def indexed_slices(folder: Path) -> list[SliceRef]:
    """List the PNGs of an index with the columns file, patient, pixel_mm and, optionally, split and notes.

    Duplicate rows with the same patient, split and pixel size are used once.
    """
    index = folder / INDEX
    rows = _read_index(index)
    dealt = assign_splits([row["patient"] for row in rows])
    slices, seen = [], dict[str, tuple[str, ...]]()
    for row in rows:
        values = tuple(row.get(key, "") for key in ("patient", "split", "pixel_mm"))
        if row["file"] in seen:
            if seen[row["file"]] != values:
                raise InputRefused(f"{index}: {row['file']} has different rows: {seen[row['file']]}, {values}")
            continue
        seen[row["file"]] = values
        path = folder / row["file"]
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InputRefused(f"{index}: contains a file outside its folder: {row['file']!r}")
        try:
            pixel_mm = float(row["pixel_mm"])
        except ValueError:
            raise InputRefused(f"{index}: {row['file']} has no pixel size ({row['pixel_mm']!r})") from None
        notes = {key: row[key] for key in ("region", "licence", "origin") if row.get(key)}
        split = row.get("split") or dealt[row["patient"]]
        name = row["file"].removesuffix(".png").replace("/", "-")
        identity = f"{pixel_mm} mm, {path.stat().st_size if path.is_file() else 0} bytes"
        read = partial(_read_png, path, pixel_mm)
        z, step = _number(row, "z_mm", index), _number(row, "thickness_mm", index) or 0.0
        stack = str(Path(row["file"]).parent)
        slices.append(
            SliceRef(name, row["patient"], split, read, notes, (), str(path), identity, stack, z, step, cropped=True)
        )
    return slices


def _number(row: dict[str, str], column: str, index: Path) -> float | None:
    """Return a length of a row; None if it is not given."""
    text = row.get(column, "").strip()
    try:
        value = float(text) if text else None
    except ValueError:
        value = math.nan
    if value is not None and not math.isfinite(value):
        raise InputRefused(f"{index}: {row['file']} has {column} {text!r}; it must be a number")
    return value


def _read_index(path: Path) -> list[dict[str, str]]:
    text = read_limited(path, LARGEST_INDEX).decode(errors="replace")
    needed = {"file", "patient", "pixel_mm"}
    try:
        reader = csv.DictReader(StringIO(text), skipinitialspace=True)
        rows: list[dict[str, Any]] = list(reader)
    except csv.Error as error:
        raise InputRefused(f"{path}: cannot be read as CSV ({error})") from error
    if not rows or not needed <= set(rows[0]):
        raise InputRefused(f"{path}: must have the columns {', '.join(sorted(needed))} and one row per slice")
    for number, row in enumerate(rows, 2):
        if any(not isinstance(row.get(key), str) or "\0" in row[key] for key in needed) or not row["file"]:
            raise InputRefused(f"{path}: line {number} is incomplete")
    return [{key: value or "" for key, value in row.items() if isinstance(key, str)} for row in rows]


def _read_png(path: Path, pixel_mm: float) -> Slice:
    hu, data = read_png(path)
    return Slice(hu, (pixel_mm, pixel_mm), sha256=sha256(data))


def _nifti_files(path: Path) -> list[Path]:
    return [file for file in ([path] if path.is_file() else sorted(path.rglob("*"))) if is_nifti(file)]


def nifti_slices(volumes: list[Path]) -> list[SliceRef]:
    """List the axial slices of NIfTI volumes; every volume is another patient."""
    patients = {path: pseudonym(path.name, str(path.stat().st_size)) for path in volumes}
    dealt = assign_splits(list(patients.values()))
    slices = []
    for path, patient in patients.items():
        volume, axes = open_nifti(path)
        check_geometry(path, volume.affine)
        step = spacings(volume, axes)[0]
        for k in range(volume.shape[axes[2][0]]):
            read = partial(_read_nifti, path, k)
            place, identity = f"{path}, slice {k}", f"{path.stat().st_size} bytes"
            name, split = f"{patient}-{k:04d}", dealt[patient]
            slices.append(SliceRef(name, patient, split, read, {}, (), place, identity, patient, k * step, step))
    return slices


def _read_nifti(path: Path, k: int) -> Slice:
    """Read one axial slice, rows from front to back, columns from the patient's right to left."""
    volume, axes = open_nifti(path)
    try:
        voxels = whole(path, path.stat().st_mtime_ns) if path.name.lower().endswith(".gz") else volume.dataobj
        up, runs_up = axes[2]
        window: list[Any] = [slice(None)] * 3
        number = k if runs_up else volume.shape[up] - 1 - k
        window[up] = slice(number, number + 1)
        hu = np.ascontiguousarray(axial_view(np.asarray(voxels[tuple(window)], np.float32), axes)[0])
        _, rows, columns = spacings(volume, axes)
    except Exception as error:
        raise InputRefused(f"{path}: slice {k} cannot be read ({error})") from error
    return Slice(hu, (rows, columns), sha256=sha256(hu.tobytes()))
