"""Reduce a scan from files to files: `acdnet reduce`.

The output is written to `.NAME.partial` next to its final place and renamed when it is complete. Finished slices are
kept there in one file each, so that an interrupted run can continue. A lock excludes a second process.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import OutOfMemoryError

from acdnet import __version__
from acdnet.errors import InputRefused, ResourceError
from acdnet.files import locked, sha256, write_atomically
from acdnet.io.scan import Provenance, Scan
from acdnet.io.slices import Image, Mask
from acdnet.methods.method import Method
from acdnet.methods.registry import get_method
from acdnet.reduction.first_pass import first_pass
from acdnet.reduction.objects import Objects
from acdnet.reduction.output import check_output, claim, partial_of, publish, remove_if_unused
from acdnet.reduction.parallel import in_parallel, worker_count
from acdnet.reduction.settings import Progress, Settings
from acdnet.reduction.slice_report import PASSED, REDUCED, UNCHANGED, SliceReport
from acdnet.reduction.slices import SliceResult, SliceTask, batch_size, in_batches, reduce_slices

MAPS = "maps"
WORK_FOLDER = re.compile(r"[0-9a-f]{24}|result")
"""Names of the folders that this program creates in the temporary folder."""


@dataclass
class Finished:
    """The outcome of a finished run."""

    out: Path
    files: list[Path]
    reports: list[SliceReport]
    warnings: list[str]
    skipped: dict[str, int]
    about: dict[str, str]
    label: str
    provenance: Provenance
    weights: str = ""
    """Hash of the network weights; the name of a classical method."""
    spacing_mm: tuple[float, float] = (1.0, 1.0)
    objects: Objects = field(default_factory=Objects)

    @property
    def complete(self) -> bool:
        """Whether no file was skipped and every slice with metal was reduced."""
        return not self.skipped and self.all_reduced

    @property
    def all_reduced(self) -> bool:
        """Whether every slice with metal was reduced."""
        return not any(report.status == PASSED for report in self.reports)


def run_job(
    scan: Scan, source: Path, out: Path, settings: Settings, progress: Progress, method: Method | None = None
) -> Finished:
    """Reduce a scan into a new folder, with the method of the settings if none is loaded."""
    out = out.absolute()
    check_output(source, out)
    method = method or get_method(settings.method, settings.device)
    continued = partial_of(out).exists()
    partial = claim(partial_of(out))
    try:
        with locked(partial / ".lock"):
            try:
                check_output(source, out)  # another process may have finished in the meantime
                finished = _run(scan, out, partial, settings, method, progress)
            except InputRefused:
                shutil.rmtree(partial / "result", ignore_errors=True)
                if not continued:  # slices of an earlier run may be of use with other settings
                    shutil.rmtree(partial, ignore_errors=True)
                raise
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise ResourceError(f"{out}: cannot write ({error.strerror or error})") from error
    except (MemoryError, OutOfMemoryError) as error:
        raise ResourceError("out of memory; try --workers 1 or --device cpu") from error
    finally:
        remove_if_unused(partial)
    return finished


def _run(scan: Scan, out: Path, partial: Path, settings: Settings, method: Method, progress: Progress) -> Finished:
    first = first_pass(scan, settings, progress)
    masks = first.masks
    provenance = _provenance(settings, method, first.content)
    work = _work_folder(partial, provenance)
    provenance = replace(provenance, created=(work / "created").read_text())
    paths = {n: work / f"{n + 1:04d}.npz" for n, mask in enumerate(masks) if mask.any()}
    todo = [n for n, path in paths.items() if not _is_readable(path)]

    def reduce_batch(numbers: Sequence[int]) -> None:
        tasks = [SliceTask(n, scan.read(n), masks[n]) for n in numbers]
        for result in reduce_slices(tasks, method, settings.segmentation.threshold_hu):
            _save(paths[result.report.number - 1], result)

    count = len(paths) - len(todo)
    progress("reducing", count, len(paths))
    batches = in_batches(todo, batch_size(method))
    for numbers, _ in in_parallel(reduce_batch, batches, worker_count(method, settings.workers, len(batches))):
        count += len(numbers)
        progress("reducing", count, len(paths))
    finished = Finished(out, [], [], scan.warnings, scan.skipped, scan.about, method.label, provenance)
    finished.weights, finished.spacing_mm = method.weights or method.name, first.spacing_mm
    finished.objects = first.objects
    _write(scan, masks, work, partial / "result", finished, progress)
    publish(partial / "result", out)
    finished.files = [out / path.relative_to(partial / "result") for path in finished.files]
    return finished


def _provenance(settings: Settings, method: Method, content: str) -> Provenance:
    metal = settings.metal
    weights = f", weights {method.weights[:16]}" if method.weights else ""
    description = (
        f"Metal artifact reduction by {method.label}, acdnet {__version__}{weights}; metal: {metal}. "
        "Research use only, not for diagnosis."
    )
    private = str(settings.keep_private)
    parts = [content, method.name, method.weights, metal, method.device.type, private, __version__]
    identity = sha256("|".join(parts).encode())
    created = datetime.now(UTC).strftime("%Y%m%d%H%M%S")
    return Provenance(method.name, description, identity, created, metal, settings.keep_private, bool(method.weights))


def _work_folder(partial: Path, provenance: Provenance) -> Path:
    """Return the folder of finished slices, reused if an earlier run had the same input and settings."""
    work = partial / provenance.identity[:24]
    for other in partial.iterdir():
        if other.is_dir() and other.name != work.name and WORK_FOLDER.fullmatch(other.name):
            shutil.rmtree(other, ignore_errors=True)  # from another input or other settings
    work.mkdir(exist_ok=True)
    if not (work / "created").exists():
        write_atomically({work / "created": provenance.created.encode()})
    return work


def _is_readable(path: Path) -> bool:
    """Return whether the file of a finished slice exists and can be opened."""
    try:
        with path.open("rb") as file, np.load(file) as contents:
            return "report" in contents
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return False


def _save(path: Path, result: SliceResult) -> None:
    parts: dict[str, Any] = {"change": result.change} if result.change is not None else {}
    if result.expected_error_hu is not None:
        parts["expected_error_hu"] = result.expected_error_hu
    buffer = BytesIO()
    np.savez(buffer, report=np.frombuffer(json.dumps(result.report.to_dict()).encode(), np.uint8), **parts)
    write_atomically({path: buffer.getvalue()})


def _load(path: Path) -> SliceResult:
    with np.load(path) as contents:
        report = SliceReport(**json.loads(contents["report"].tobytes()))
        return SliceResult(report, contents.get("change", None), contents.get("expected_error_hu", None))


def _write(scan: Scan, masks: list[Mask], work: Path, folder: Path, finished: Finished, progress: Progress) -> None:
    from acdnet.reduction.report import MAX_EXAMPLES, Example, write_report

    shutil.rmtree(folder, ignore_errors=True)
    (folder / MAPS).mkdir(parents=True)
    writer = scan.writer(folder, finished.provenance)
    examples: list[Example] = []
    for n, mask in enumerate(masks):
        result = _load(work / f"{n + 1:04d}.npz") if mask.any() else SliceResult(SliceReport(n + 1, UNCHANGED))
        writer.write(n, result.change)
        finished.reports.append(result.report)
        labels = finished.objects.labels(n, mask.shape)
        if mask.any() or labels is not None:
            _write_maps(folder / MAPS / f"{n + 1:04d}.npz", mask, result.expected_error_hu, labels)
        if result.report.status == REDUCED and result.change is not None:
            examples.append(Example(n, result.report, result.change, result.expected_error_hu, mask))
            examples = sorted(examples, key=lambda one: -one.report.mean_change_hu)[:MAX_EXAMPLES]
        progress("writing", n + 1, len(masks))
    finished.files = [*writer.close(), folder / MAPS]
    finished.files += write_report(finished, folder, [(example, scan.read(example.number)) for example in examples])


def _write_maps(path: Path, metal: Mask, error: Image | None, labels: NDArray[np.uint16] | None) -> None:
    """Write the metal mask, the numbers of objects, and the expected error in whole HU up to 65535."""
    parts: dict[str, Any] = {"metal": metal}
    if error is not None:
        parts["expected_error_hu"] = np.clip(np.rint(error), 0, 65535).astype(np.uint16)
    if labels is not None:
        parts["objects"] = labels
    np.savez_compressed(path, **parts)
