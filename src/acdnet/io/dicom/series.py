"""Find the DICOM series of a folder: group and sort the slices, and check their geometry."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from acdnet.errors import InputRefused, NeedsChoice, NoSlices
from acdnet.files import leads_inside, sha256
from acdnet.io.dicom.bounds import readable
from acdnet.io.dicom.tags import check_complete, is_axial, number, plane_of, read_dataset, read_header, why_no_slice
from acdnet.messages import printable, quoted

UNEVEN = 0.02
"""Relative variation of the slice spacing that counts as uneven."""
TILT_DEGREES = 1.0
MAX_LISTED = 20
"""Series listed in an error."""
SUBTRACTION = "113062"
"""DICOM code of a subtraction image."""


@dataclass(frozen=True)
class SliceFile:
    """The file, identity and position of a slice."""

    file: Path
    uid: str
    height: float
    """Position along the normal in mm, towards the head."""
    normal: tuple[float, float, float]
    tilt: float
    """Degrees between the normal and the long axis of the patient."""


@dataclass
class Series:
    """Slices of one series in one frame of reference, from inferior to superior."""

    key: str
    title: str
    """Description without patient data: slices, matrix, pixel size, kernel."""
    axial: bool
    slices: list[SliceFile] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass
class SeriesIndex:
    """The series and other files of a folder."""

    series: list[Series]
    skipped: dict[str, int]
    problems: list[tuple[str, InputRefused]] = field(default_factory=list)
    """Unusable slices: the key of their series, if readable, and the error."""


def find_series(path: Path, files: Sequence[Path] = ()) -> SeriesIndex:
    """Find the CT series of a file, a folder or some files; unusable slices are listed as problems."""
    skipped: Counter[str] = Counter()
    problems: list[tuple[str, InputRefused]] = []
    groups: dict[tuple[str, ...], list[tuple[Any, SliceFile]]] = {}
    for file in files or _files(path):
        header = read_header(file, must_be_dicom=path.is_file())
        reason = "not DICOM" if header is None else why_no_slice(header)
        if reason:
            skipped[reason] += 1
            continue
        key: tuple[str, ...] = ()
        try:
            with readable(file):
                key = _key(header)
                check_complete(header, file)
                part = _slice_file(header, file)
                groups.setdefault(key, []).append((header, part))
        except InputRefused as error:
            problems.append((_hash(key) if key else "", error))
    skipped.pop("DICOMDIR", None)  # a table of contents, not an image
    series = []
    for key, members in sorted(groups.items()):
        try:
            with readable(members[0][1].file):
                series.append(_series(key, members, skipped))
        except InputRefused as error:
            problems.append((_hash(key), error))
    return SeriesIndex(series, dict(skipped), problems)


def _hash(key: tuple[str, ...]) -> str:
    return sha256("\0".join(key).encode(errors="replace"))


def series_key(header: Any) -> str:
    """Return the hash of what identifies the series of a slice."""
    return _hash(_key(header))


def choose(index: SeriesIndex, path: Path, wanted: int | None, any_plane: bool) -> Series:
    """Return the requested series, or the only one; refuse an ambiguous choice."""
    if not index.series and index.problems:
        raise index.problems[0][1]
    if not index.series:
        contents = ", ".join(f"{count} {reason}" for reason, count in index.skipped.items()) or "no files"
        hint = "; convert it to single frames" if "enhanced multi-frame CT" in index.skipped else ""
        raise NoSlices(f"{path}: no CT slice found ({contents}){hint}")
    if wanted is None and len(index.series) > 1:
        titles = "; ".join(f"{n}: {one.title}" for n, one in enumerate(index.series[:MAX_LISTED], 1))
        several = f"{path}: contains {len(index.series)} series"
        raise NeedsChoice(several, NeedsChoice.SERIES, f"; choose one with --series N ({titles})")
    if wanted is not None and not 1 <= wanted <= len(index.series):
        raise InputRefused(f"{path}: has no series {wanted}; choose one from 1 to {len(index.series)}")
    chosen = index.series[(wanted or 1) - 1]
    for key, problem in index.problems:  # of this series, or of an unknown one
        if key in ("", chosen.key) or wanted is None:
            raise problem
    if not chosen.axial and not any_plane:
        oblique = f"{path}: the slices are not axial (ImageOrientationPatient)"
        raise NeedsChoice(oblique, NeedsChoice.ANY_PLANE, "; use --accept-non-axial to accept them")
    return chosen


def _files(path: Path) -> Iterable[Path]:
    if path.is_file():
        return [path]
    files = []
    for file in sorted(path.rglob("*")):
        if not leads_inside(file, path):
            raise InputRefused(f"{file}: is a link to outside the folder; copy the file instead")
        if file.is_file():
            files.append(file)
    return files


def _key(header: Any) -> tuple[str, ...]:
    tags = ("PatientID", "StudyInstanceUID", "SeriesInstanceUID", "FrameOfReferenceUID")
    return tuple(str(header.get(tag, "")) for tag in tags)


def _slice_file(header: Any, file: Path) -> SliceFile:
    across, down = plane_of(header, file)
    normal = np.cross(across, down)
    position = header.get("ImagePositionPatient")
    if position is None or len(position) != 3:
        raise InputRefused(f"{file}: ImagePositionPatient is {quoted(position)}; the position of a slice must be known")
    place = np.array([float(value) for value in position])
    if not np.isfinite(place).all():
        raise InputRefused(f"{file}: ImagePositionPatient is {quoted(position)}; it must be finite")
    tilt = float(np.degrees(np.arccos(np.clip(abs(normal[2]), 0.0, 1.0))))
    upwards = normal if normal[2] >= 0 else -normal  # mirrored slices also go from inferior to superior
    x, y, z = (float(value) for value in upwards)
    return SliceFile(file, str(header.SOPInstanceUID), float(upwards @ place), (x, y, z), tilt)


def _series(key: tuple[str, ...], members: list[tuple[Any, SliceFile]], skipped: Counter[str]) -> Series:
    header, first = members[0]
    spacing = [number(header, "Rows", first.file), number(header, "Columns", first.file)]
    mm = " x ".join(f"{float(value):.3g}" for value in header.PixelSpacing)
    axial = all(is_axial(*plane_of(one, part.file)) for one, part in members)
    kernel = _kernel(header)
    steps = np.diff(sorted(part.height for _, part in members))
    apart = f", {float(np.median(steps)):.3g} mm apart" if len(steps) else ""
    count = f"{len(members)} slice{'s' if len(members) > 1 else ''}"
    title = f"{count} of {spacing[0]:g} x {spacing[1]:g}, {mm} mm{apart}"
    title += f", kernel {kernel}" if kernel else ""
    if "acdnet" in str(header.get("DerivationDescription") or ""):
        title += ", made by acdnet"
    if re.fullmatch(r"-?[0-9]{1,12}", str(header.get("SeriesNumber") or "")):
        title += f", series number {header.SeriesNumber}"
    series = Series(_hash(key), title if axial else f"{title}, not axial", axial)
    seen: dict[str, SliceFile] = {}
    for _, part in members:
        if part.uid in seen:
            _check_copies(seen[part.uid].file, part.file)
            skipped["copies of a slice"] += 1
            continue
        seen[part.uid] = part
    series.slices = sorted(seen.values(), key=lambda part: (part.height, part.uid))
    series.warnings = [*_spacing_warnings(series.slices), *_tilt_warnings(header, series.slices)]
    return series


def _kernel(header: Any) -> str:
    """Return the name of the kernel, unless it quotes the patient's name or number."""
    value = header.get("ConvolutionKernel") or ""
    name = "/".join(str(part) for part in ([value] if isinstance(value, str) else value))
    identity = f"{header.get('PatientName', '')} {header.get('PatientID', '')}".casefold()
    words = {word for word in re.split(r"[\s^=\\]+", identity) if len(word) > 1}
    return "" if any(word in name.casefold() for word in words) else printable(name, 16)


def check_not_ours(series: Series) -> None:
    """Refuse the output of this program."""
    file = series.slices[0].file
    header = read_header(file, must_be_dicom=True)
    with readable(file):
        ours = "acdnet" in str(header.get("DerivationDescription") or "")
        codes = [str(item.get("CodeValue", "")) for item in header.get("DerivationCodeSequence") or () if ours]
    if not ours:
        return
    if SUBTRACTION in codes:
        raise InputRefused(f"{file}: belongs to a difference series written by acdnet, not to a scan")
    raise InputRefused(f"{file}: belongs to a series written by acdnet; use the original instead")


def _check_copies(first: Path, second: Path) -> None:
    pixels = [read_dataset(file)[0].get("PixelData") for file in (first, second)]
    if pixels[0] != pixels[1]:
        raise InputRefused(
            f"{second}: has the same SOPInstanceUID as {first.name} but different pixels; remove the wrong file"
        )


def _spacing_warnings(slices: list[SliceFile]) -> list[str]:
    steps = np.diff([part.height for part in slices])
    if len({tuple(round(value, 3) for value in part.normal) for part in slices}) > 1:
        return ["the slices are not parallel"]
    if len(steps) == 0:
        return []
    usual = float(np.median(steps))
    gaps = int((steps > 1.5 * usual).sum()) if usual > 0 else 0
    if gaps:
        return [f"slices are missing at {gaps} position{'s' if gaps > 1 else ''}"]
    if usual <= 0 or np.abs(steps - usual).max() > UNEVEN * usual + 0.01:
        return ["the slice spacing is uneven"]
    return []


def _tilt_warnings(header: Any, slices: list[SliceFile]) -> list[str]:
    tilt = max(part.tilt for part in slices)
    try:
        stated = abs(float(header.get("GantryDetectorTilt") or 0.0))
    except (TypeError, ValueError):
        stated = 0.0
    notes = []
    if tilt > TILT_DEGREES:
        notes.append(f"the gantry is tilted by {tilt:.0f} degrees; rays are simulated in the plane of the slice")
    if abs(stated - tilt) > TILT_DEGREES:
        notes.append(
            f"GantryDetectorTilt is {stated:.0f} degrees, but the slices are tilted by {tilt:.0f}; the tag is ignored"
        )
    return notes
