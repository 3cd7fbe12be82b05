"""Checks of NIfTI files before their voxels are read: sizes, offsets, extensions, checksums and geometry."""

from __future__ import annotations

import gzip
import math
import zlib
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acdnet.errors import InputRefused, NeedsChoice
from acdnet.limits import MAX_SIDE, MAX_TILT_DEGREES, MAX_VOLUME_BYTES
from acdnet.messages import quiet_readers, quoted

SIZES = {348: "Nifti1Header", 540: "Nifti2Header"}
"""Bytes of a header, and its class in nibabel."""
MAX_OFFSET = 16 * 2**20
"""Bytes before the voxels: the header and its extensions."""
MAX_RATIO = 1032
"""Deflate packs at most this many bytes into one."""
SLACK = 2**20
"""Bytes after the voxels that are ignored."""
MAX_SHEAR = 0.01
"""Largest cosine between two axes of a volume; headers are rounded."""
CHUNK = 2**20


def is_packed(path: Path) -> bool:
    """Return whether a volume is compressed."""
    return path.name.lower().endswith(".gz")


def check_header(path: Path) -> None:
    """Refuse a header that is damaged or claims more than the file can hold, before nibabel reads it."""
    quiet_readers()
    try:
        with _opened(path) as file:
            start = file.read(min(max(SIZES) + 4, MAX_OFFSET))
            header = _parsed(start)
            offset = float(header["vox_offset"])
            if not (int(header["sizeof_hdr"]) + 4 <= offset <= MAX_OFFSET and offset == int(offset)):
                raise InputRefused(f"{path}: vox_offset is {offset:g}; voxels cannot start there")
            start += file.read(max(int(offset) - len(start), 0))
        _check_extensions(start[int(header["sizeof_hdr"]) : int(offset)], header, path)
        shape, kind = header.get_data_shape(), header.get_data_dtype()
    except (InputRefused, MemoryError):
        raise
    except Exception as error:
        raise InputRefused(f"{path}: is not a readable NIfTI volume ({quoted(error)})") from error
    if len(shape) != 3 or max(shape) > MAX_SIDE or min(shape) < 1:
        raise InputRefused(f"{path}: has shape {shape}; three axes of at most {MAX_SIDE} are needed")
    claimed, size = math.prod(shape) * max(kind.itemsize, 1), path.stat().st_size
    if claimed > MAX_VOLUME_BYTES:
        raise InputRefused(f"{path}: unpacks to more than {MAX_VOLUME_BYTES:,} bytes, the limit for volumes")
    if offset + claimed > (size * MAX_RATIO if is_packed(path) else size):
        raise InputRefused(f"{path}: claims {claimed:,} bytes of voxels, but the file has {size:,} bytes")


def check_packed(path: Path, needed: int) -> None:
    """Unpack a compressed volume to its end without keeping it: the sum must fit and the size be as claimed."""
    if not is_packed(path):
        return
    found = 0
    try:
        with gzip.open(path, "rb") as file:
            while chunk := file.read(CHUNK):
                found += len(chunk)
                if found > needed + SLACK:
                    raise InputRefused(f"{path}: unpacks to more than its header claims ({needed:,} bytes)")
    except (OSError, EOFError, zlib.error) as error:
        raise InputRefused(f"{path}: is damaged or cut short ({quoted(error)})") from error
    if found < needed:
        raise InputRefused(f"{path}: unpacks to {found:,} bytes, but its header claims {needed:,}")


def check_geometry(path: Path, affine: NDArray[Any], any_plane: bool = False) -> None:
    """Refuse a volume whose axes are not perpendicular, or whose slices are not axial."""
    steps = np.asarray(affine, float)[:3, :3]
    lengths = np.linalg.norm(steps, axis=0)
    if not (np.isfinite(steps).all() and (lengths > 0).all()):
        raise InputRefused(f"{path}: its affine does not define an orientation")
    units = steps / lengths
    if np.abs(units.T @ units - np.eye(3)).max() > MAX_SHEAR:
        raise InputRefused(f"{path}: its axes are not perpendicular (sheared); resample it first")
    if np.abs(units[2]).max() < math.cos(math.radians(MAX_TILT_DEGREES)) and not any_plane:
        oblique = f"{path}: the slices are tilted by more than {MAX_TILT_DEGREES:g} degrees"
        raise NeedsChoice(oblique, NeedsChoice.ANY_PLANE, "; use --accept-non-axial to accept them")


def _opened(path: Path) -> gzip.GzipFile | BufferedReader:
    return gzip.open(path, "rb") if is_packed(path) else path.open("rb")


def _parsed(start: bytes) -> Any:
    import nibabel

    size = next((n for n in SIZES for order in ("little", "big") if int.from_bytes(start[:4], order) == n), None)
    if size is None or len(start) < size:
        raise ValueError("it has no header of NIfTI")
    header = getattr(nibabel, SIZES[size])(start[:size], check=False)
    if bytes(header["magic"])[:3] not in (b"n+1", b"n+2"):
        raise ValueError("it is not a single file of NIfTI")
    return header


def _check_extensions(data: bytes, header: Any, path: Path) -> None:
    """Refuse extensions that claim to reach beyond the start of the voxels."""
    at = 4
    while data[:1] not in (b"", b"\0") and at + 16 <= len(data):
        size = int(np.frombuffer(data[at : at + 4], np.dtype("i4").newbyteorder(header.endianness))[0])
        if not 8 <= size <= len(data) - at:
            raise InputRefused(f"{path}: an extension of its header claims {size:,} bytes")
        at += size
