"""A scan from files to files: `acdnet reduce`.

Everything is made in `.NAME.partial` beside the output, which takes its name only when it is complete. What is killed
goes on where it was: finished slices are kept there, one file each. A second process is kept out by a lock.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import OutOfMemoryError

from acdnet import __version__
from acdnet.errors import ResourceError
from acdnet.files import locked, sha256, write_atomically
from acdnet.metal import Segmentation
from acdnet.reduction.guard import check_finite
from acdnet.reduction.masks import read_mask
from acdnet.reduction.output import check_output, claim, leave, partial_of
from acdnet.reduction.record import PASSED, REDUCED, SliceRecord
from acdnet.reduction.reducer import Reducer, make_reducer
from acdnet.reduction.volume import Mask, find_all, in_parallel, treat
from acdnet.scans.scan import Provenance, Scan, ScanSlice

MOST_WORKERS = 8
MAPS = "maps"
NO_AIR_HU, NO_TISSUE_HU = -300.0, 0.0
"""A scan without anything darker, or without anything brighter, is likely to be in other units."""
WORK = re.compile(r"[0-9a-f]{24}|result")
"""What our folders are called."""


@dataclass(frozen=True)
class Settings:
    """What a user can choose."""

    method: str = "acdnet"
    model: str = "default"
    segmentation: Segmentation = field(default_factory=Segmentation)
    mask: Path | None = None
    device: str = "auto"
    workers: int = 0
    """Slices that are worked on at a time, a core each; 0: as many as there are cores."""
    keep_private: bool = False


@dataclass
class Finished:
    """What a job made."""

    out: Path
    files: list[Path]
    records: list[SliceRecord]
    warnings: list[str]
    skipped: dict[str, int]
    about: dict[str, str]
    label: str
    provenance: Provenance
    weights: str = ""
    """The hash of the network's weights; of classical methods, the name."""
    spacing_mm: tuple[float, float] = (1.0, 1.0)

    @property
    def complete(self) -> bool:
        """Return whether nothing was skipped or left alone that might have been expected to change."""
        return not self.skipped and not any(record.status == PASSED for record in self.records)


Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def run_job(scan: Scan, source: Path, out: Path, settings: Settings, progress: Progress) -> Finished:
    """Reduce a scan into a new folder."""
    out = out.absolute()
    check_output(source, out)
    reducer = make_reducer(settings.method, settings.model, settings.device)
    partial = claim(partial_of(out))
    try:
        with locked(partial / ".lock"):
            check_output(source, out)  # another process may have finished meanwhile
            finished = _work(scan, out, partial, settings, reducer, progress)
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise ResourceError(f"{out}: cannot write ({error.strerror or error})") from error
    except (MemoryError, OutOfMemoryError) as error:
        raise ResourceError("not enough memory; try --workers 1, or --device cpu") from error
    finally:
        leave(partial)
    return finished


def _work(scan: Scan, out: Path, partial: Path, settings: Settings, reducer: Reducer, progress: Progress) -> Finished:
    masks, content = _look(scan, settings, progress)
    provenance = _provenance(settings, reducer, content)
    work = _resume(partial, provenance)
    provenance = replace(provenance, created=(work / "created").read_text())
    with_metal = [n for n, mask in enumerate(masks) if mask.any()]

    def one(n: int) -> None:
        path = work / f"{n + 1:04d}.npz"
        if not _is_whole(path):
            _keep(path, *_treated(scan.read(n), masks[n], reducer, settings, n))

    progress("reducing", 0, len(with_metal))
    for done, _ in enumerate(in_parallel(one, with_metal, _workers(settings, reducer.device, len(with_metal))), 1):
        progress("reducing", done, len(with_metal))
    finished = Finished(out, [], [], scan.warnings, scan.skipped, scan.about, reducer.label, provenance)
    finished.weights, finished.spacing_mm = reducer.identity, scan.read(0).spacing_mm
    _write(scan, masks, work, partial / "result", finished, progress)
    if out.exists():
        out.rmdir()
    (partial / "result").replace(out)
    finished.files = [out / path.relative_to(partial / "result") for path in finished.files]
    return finished


def _look(scan: Scan, settings: Settings, progress: Progress) -> tuple[list[Mask], str]:
    """Read all slices once: find the metal, and make a hash of everything."""
    hashes: list[str] = []
    odd: list[int] = []

    lowest, highest = np.inf, -np.inf

    def seen(n: int, slice_: ScanSlice) -> None:
        nonlocal lowest, highest
        finite = slice_.hu[np.isfinite(slice_.hu)]
        lowest, highest = min(lowest, finite.min(initial=lowest)), max(highest, finite.max(initial=highest))
        if not np.isfinite(slice_.hu).all():
            odd.append(n)
        hashes.append(sha256(slice_.hu.tobytes() + repr(slice_.spacing_mm).encode()))
        progress("looking for metal", len(hashes), len(scan))

    found = list(find_all(scan, settings.segmentation, seen))
    if lowest > NO_AIR_HU or highest < NO_TISSUE_HU:
        scan.warnings.append(f"values reach from {lowest:.4g} to {highest:.4g}; are these HU?")
    if settings.mask is not None:
        found = read_mask(settings.mask, scan, [(mask.shape[0], mask.shape[1]) for mask in found])
        hashes += [sha256(np.packbits(mask).tobytes()) for mask in found]
    for n in odd:
        check_finite(scan.read(n), found[n], settings.segmentation.threshold_hu, n)
    nothing = np.broadcast_to(np.False_, (1, 1))
    kept = [mask if mask.any() else np.broadcast_to(nothing, mask.shape) for mask in found]
    return kept, sha256("".join(hashes).encode())


def _provenance(settings: Settings, reducer: Reducer, content: str) -> Provenance:
    how = settings.segmentation
    metal = "mask given" if settings.mask else f"{how.kind}, threshold {how.threshold_hu:g} HU"
    description = (
        f"Metal artifact reduction by {reducer.label}, acdnet {__version__}, weights {reducer.identity[:16]}; "
        f"metal: {metal}. Research use only, not for diagnosis."
    )
    parts = [content, reducer.name, reducer.identity, metal, reducer.device, str(settings.keep_private), __version__]
    identity = sha256("|".join(parts).encode())
    created = datetime.now(UTC).strftime("%Y%m%d%H%M%S")
    return Provenance(reducer.name, description, identity, created, metal, settings.keep_private)


def _resume(partial: Path, provenance: Provenance) -> Path:
    """Return the folder of finished slices: that of the same job if it was begun, or a new one."""
    work = partial / provenance.identity[:24]
    for other in partial.iterdir():
        if other.is_dir() and other.name != work.name and WORK.fullmatch(other.name):
            shutil.rmtree(other, ignore_errors=True)  # of another input or other settings
    work.mkdir(exist_ok=True)
    if not (work / "created").exists():
        write_atomically({work / "created": provenance.created.encode()})
    return work


def _is_whole(path: Path) -> bool:
    """Tell whether a finished slice is there and can be read."""
    try:
        with path.open("rb") as file, np.load(file) as kept:
            return "record" in kept
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return False


def _treated(
    slice_: ScanSlice, metal: Mask, reducer: Reducer, settings: Settings, n: int
) -> tuple[SliceRecord, NDArray[np.float32] | None, NDArray[np.float32] | None]:
    record, outcome = treat(slice_, metal, reducer, settings.segmentation, n)
    return record, outcome.change if outcome else None, outcome.doubt if outcome else None


def _keep(
    path: Path, record: SliceRecord, change: NDArray[np.float32] | None, doubt: NDArray[np.float32] | None
) -> None:
    parts: dict[str, Any] = {"change": change} if change is not None else {}
    if doubt is not None:
        parts["doubt"] = doubt
    buffer = BytesIO()
    np.savez(buffer, record=np.frombuffer(json.dumps(record.to_dict()).encode(), np.uint8), **parts)
    write_atomically({path: buffer.getvalue()})


def _write(scan: Scan, masks: list[Mask], work: Path, result: Path, finished: Finished, progress: Progress) -> None:
    from acdnet.reduction.report import Look, write_report

    shutil.rmtree(result, ignore_errors=True)
    (result / MAPS).mkdir(parents=True)
    writer = scan.writer(result, finished.provenance)
    looks: list[Look] = []
    for n, mask in enumerate(masks):
        path = work / f"{n + 1:04d}.npz"
        record, change, doubt = SliceRecord(n + 1, "unchanged"), None, None
        if mask.any():
            with np.load(path) as kept:
                told = json.loads(kept["record"].tobytes())
                record = SliceRecord(**told)
                change, doubt = (kept.get(name, None) for name in ("change", "doubt"))
        writer.write(n, change)
        finished.records.append(record)
        if mask.any():
            _write_maps(result / MAPS / f"{n + 1:04d}.npz", mask, doubt)
        if record.status == REDUCED and change is not None:
            looks.append(Look(n, record, change, doubt, mask))
            looks = sorted(looks, key=lambda look: -look.record.mean_change_hu)[: Look.MOST]
        progress("writing", n + 1, len(masks))
    finished.files = [*writer.close(), result / MAPS]
    finished.files += write_report(finished, result, [(look, scan.read(look.number)) for look in looks])


def _write_maps(path: Path, metal: Mask, doubt: NDArray[np.float32] | None) -> None:
    """Keep where the metal is, and the expected error in whole HU up to 65535."""
    parts: dict[str, Any] = {"metal": metal}
    if doubt is not None:
        parts["expected_error_hu"] = np.clip(np.rint(doubt), 0, 65535).astype(np.uint16)
    np.savez_compressed(path, **parts)


def _workers(settings: Settings, device: str, slices: int) -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = 1 if device != "cpu" else settings.workers or min(cores, MOST_WORKERS)
    return max(1, min(wanted, slices))
