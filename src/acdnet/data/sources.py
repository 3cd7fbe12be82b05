"""Where clean slices come from: DICOM, NIfTI, 16-bit PNG with an index, or phantoms."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np

from acdnet.errors import InputRefused
from acdnet.files import read_limited, sha256
from acdnet.slices import RawSlice, SliceRef, assign_splits, pseudonym

INDEX = "index.csv"
PNG_OFFSET = 32768
"""16-bit PNGs hold HU + 32768."""
LARGEST_INDEX, LARGEST_PNG, LARGEST_NIFTI = 64 * 2**20, 64 * 2**20, 2 * 2**30
LARGEST_SIDE = 4096


def open_source(source: str, count: int = 60, seed: int = 0, exclude: Sequence[str] = ()) -> list[SliceRef]:
    """List the slices of a source; `phantom` makes `count` patients from a seed.

    `exclude` names patients to leave out, PATIENT or PATIENT@SPLIT. A patient in two splits is refused.
    """
    slices = _list(source, count, seed)
    unknown = [name for name in exclude if not any(_is_named(ref, name) for ref in slices)]
    if unknown:
        raise InputRefused(f"{source}: has no patient {unknown[0]!r} to exclude")
    kept = [ref for ref in slices if not any(_is_named(ref, name) for name in exclude)]
    if not kept:
        raise InputRefused(f"{source}: has no CT slice in it, or all are excluded")
    seen: dict[str, str] = {}
    for ref in kept:
        if (first := seen.setdefault(ref.patient, ref.split)) != ref.split:
            raise InputRefused(
                f"{source}: patient {ref.patient} is in {first} and in {ref.split}; "
                f"leave one out with --exclude {ref.patient}@{first} or --exclude {ref.patient}@{ref.split}"
            )
    return kept


def _is_named(ref: SliceRef, name: str) -> bool:
    return name in (ref.patient, f"{ref.patient}@{ref.split}")


def _list(source: str, count: int, seed: int) -> list[SliceRef]:
    if source == "phantom":
        return phantom_slices(count, seed)
    path = Path(source)
    if not path.exists():
        raise InputRefused(f"{source}: no such file or folder, and not the word 'phantom'")
    if path.is_file() and path.name == INDEX:
        path = path.parent
    if (path / INDEX).is_file():
        return indexed_slices(path)
    if volumes := _nifti_files(path):
        return nifti_slices(volumes)
    from acdnet.dicom.read import dicom_slices

    return dicom_slices(path)


def phantom_slices(count: int, seed: int) -> list[SliceRef]:
    """List phantoms, every one a patient of its own, the sites in turn."""
    from acdnet.physics.phantom import SITES

    sites = sorted(SITES)
    names = [f"phantom-{seed}-{number:05d}" for number in range(count)]
    splits = assign_splits(names)
    slices = []
    for n, name in enumerate(names):
        site = sites[n % len(sites)]
        read = partial(_read_phantom, site, seed, n)
        slices.append(SliceRef(name, name, splits[name], read, {"site": site}, SITES[site][2]))
    return slices


def _read_phantom(site: str, seed: int, number: int) -> RawSlice:
    from acdnet.physics.phantom import make_phantom

    phantom = make_phantom(site, seed * 1_000_003 + number)
    return RawSlice(phantom.hu, (phantom.pixel_mm, phantom.pixel_mm), sha256(phantom.hu.tobytes()))


def indexed_slices(folder: Path) -> list[SliceRef]:
    """List the PNGs of an index with the columns file, patient, pixel_mm and, if it has them, split and notes.

    A file that is named twice, with the same patient, split and pixel size, is used once.
    """
    text = read_limited(folder / INDEX, LARGEST_INDEX).decode(errors="replace")
    rows = list(csv.DictReader(StringIO(text)))
    needed = {"file", "patient", "pixel_mm"}
    if not rows or not needed <= rows[0].keys():
        raise InputRefused(f"{folder / INDEX}: must have the columns {', '.join(sorted(needed))}")
    dealt = assign_splits([row["patient"] for row in rows])
    slices, seen = [], dict[str, tuple[str | None, ...]]()
    for row in rows:
        said = tuple(row.get(key) for key in ("patient", "split", "pixel_mm"))
        if row["file"] in seen:
            if seen[row["file"]] != said:
                raise InputRefused(f"{folder / INDEX}: says two things of {row['file']}: {seen[row['file']]}, {said}")
            continue
        seen[row["file"]] = said
        path = folder / row["file"]
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InputRefused(f"{folder / INDEX}: names a file outside its folder: {row['file']!r}")
        try:
            pixel_mm = float(row["pixel_mm"])
        except (TypeError, ValueError):
            raise InputRefused(f"{folder / INDEX}: {row['file']} has no pixel size ({row['pixel_mm']!r})") from None
        notes = {key: row[key] for key in ("region", "licence", "origin") if row.get(key)}
        split = row.get("split") or dealt[row["patient"]]
        name = row["file"].removesuffix(".png").replace("/", "-")
        slices.append(SliceRef(name, row["patient"], split, partial(_read_png, path, pixel_mm), notes))
    return slices


def _read_png(path: Path, pixel_mm: float) -> RawSlice:
    from PIL import Image

    data = read_limited(path, LARGEST_PNG)
    try:
        with Image.open(BytesIO(data), formats=("PNG",)) as picture:
            if max(picture.size) > LARGEST_SIDE or not picture.mode.startswith("I"):
                raise InputRefused(
                    f"{path}: is {picture.mode}, {picture.size}; a slice is a grey 16-bit PNG up to {LARGEST_SIDE}"
                )
            stored = np.asarray(picture, dtype=np.int64)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise InputRefused(f"{path}: is not a PNG picture that can be read ({error})") from error
    return RawSlice((stored - PNG_OFFSET).astype(np.float32), (pixel_mm, pixel_mm), sha256(data))


def _nifti_files(path: Path) -> list[Path]:
    candidates = [path] if path.is_file() else sorted(path.iterdir())
    return [file for file in candidates if file.name.endswith((".nii", ".nii.gz")) and not file.name.startswith(".")]


def nifti_slices(volumes: list[Path]) -> list[SliceRef]:
    """List the axial slices of NIfTI volumes; every volume is a patient of its own."""
    import nibabel

    patients = {path: pseudonym(path.name) for path in volumes}
    dealt = assign_splits(list(patients.values()))
    slices = []
    for path, patient in patients.items():
        try:
            shape = nibabel.as_closest_canonical(nibabel.load(path)).shape
        except Exception as error:
            raise InputRefused(f"{path}: is not a NIfTI volume that can be read ({error})") from error
        if len(shape) != 3 or max(shape) > LARGEST_SIDE:
            raise InputRefused(f"{path}: has the shape {shape}; a volume has three axes up to {LARGEST_SIDE}")
        for k in range(shape[2]):
            slices.append(SliceRef(f"{patient}-{k:04d}", patient, dealt[patient], partial(_read_nifti, path, k)))
    return slices


def _read_nifti(path: Path, k: int) -> RawSlice:
    """Read one axial slice, rows from front to back, columns from the patient's right to left."""
    import nibabel

    try:
        volume = nibabel.as_closest_canonical(nibabel.load(path))
        right_by_front = np.asarray(volume.dataobj[:, :, k], dtype=np.float32)
        across, along = (float(mm) for mm in volume.header.get_zooms()[:2])
    except Exception as error:
        raise InputRefused(f"{path}: slice {k} cannot be read ({error})") from error
    hu = np.ascontiguousarray(right_by_front[::-1, ::-1].T)
    return RawSlice(hu, (along, across), sha256(hu.tobytes()))
