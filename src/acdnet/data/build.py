"""Build a data set in several processes; it can be resumed, and does not depend on the number of processes.

folder/plan.json       settings and slices, written first; a resumed run must have the same
folder/.done/*.json    one entry per finished slice, written after its files
folder/manifest.json   all entries, written last; then .done and plan.json are removed
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from acdnet import __version__
from acdnet.data import benchmark
from acdnet.data.recipe import MadeSlice, Recipe, make_slice
from acdnet.data.slabs import group_slabs, make_slab
from acdnet.data.slices import SliceRef, Source
from acdnet.data.store import FOLDER, FORMAT, MANIFEST, check_patients, pack_slice, read_manifest
from acdnet.errors import ConfigError, InputRefused, ResourceError
from acdnet.files import locked, read_limited, sha256, write_atomically

PLAN, DONE = "plan.json", ".done"
NOTICE = "Simulated for research. Not for diagnosis."
LARGEST_PLAN = 512 * 2**20


def build(
    source: Source | Sequence[SliceRef], recipe: Recipe, out: Path, workers: int = 1, skip_bad: bool = False
) -> Iterator[tuple[int, int]]:
    """Build the data set in the folder `out`; yield (finished slices, all slices)."""
    slices = source.slices if isinstance(source, Source) else list(source)
    passed_over = source.passed_over if isinstance(source, Source) else {}
    if not slices:
        raise InputRefused("the source has no slices")
    if len({ref.name for ref in slices}) < len(slices):
        raise InputRefused("two slices of the source have the same name")
    if workers < 1:
        raise ConfigError(f"workers is {workers}; it must be at least 1")
    check_patients([{"patient": ref.patient, "split": ref.split} for ref in slices], Path("source"))
    shapes, masks = recipe.metal_shapes(), recipe.fixed_masks()  # errors appear here rather than in a worker
    plan = _plan(slices, recipe)
    _make_folder(out)
    with locked(out / ".lock"):
        if _finished(out, plan):
            yield len(slices), len(slices)
            return
        _start(out, plan)
        groups = group_slabs(slices, recipe.slab) if recipe.slab else [[ref] for ref in slices]
        missing = [group for group in groups if not all((out / DONE / f"{ref.name}.json").exists() for ref in group)]
        done = len(slices) - sum(map(len, missing))
        yield done, len(slices)
        for count in _work(missing, (recipe, shapes, masks, out, skip_bad), workers):
            done += count
            yield done, len(slices)
        _finish(out, plan, slices, passed_over)


def _plan(slices: Sequence[SliceRef], recipe: Recipe) -> bytes:
    names = [[ref.name, ref.patient, ref.split, ref.identity] for ref in slices]
    plan = {"format": FORMAT, "version": __version__, "recipe": recipe.identity(), "slices": names}
    if recipe.slab:
        plan["heights"] = [[ref.stack, ref.z_mm, ref.step_mm] for ref in slices]
    return json.dumps(plan, indent=1).encode()


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputRefused(f"{out}: is a file; choose a folder") from None
    except OSError as error:
        raise ResourceError(f"{out}: cannot be created ({error.strerror})") from error


def _finished(out: Path, plan: bytes) -> bool:
    if not (out / MANIFEST).exists():
        return False
    if read_manifest(out).get("plan_sha256") != sha256(plan):
        raise InputRefused(f"{out}: contains another data set, or one with other settings; choose another folder")
    return True


def _start(out: Path, plan: bytes) -> None:
    """Start, or continue a run with the same plan."""
    if (out / PLAN).exists():
        if read_limited(out / PLAN, LARGEST_PLAN) != plan:
            raise InputRefused(f"{out}: was started with other settings or slices; use the same, or another folder")
        for left in out.rglob(".*.partial"):
            left.unlink()
    elif any(item.name != ".lock" for item in out.iterdir()):
        raise InputRefused(f"{out}: is not empty; choose another folder")
    (out / DONE).mkdir(exist_ok=True)
    (out / FOLDER).mkdir(exist_ok=True)
    write_atomically({out / PLAN: plan})


def _finish(out: Path, plan: bytes, slices: Sequence[SliceRef], passed_over: dict[str, int]) -> None:
    """Write the manifest and remove the files that served to resume."""
    entries = [json.loads((out / DONE / f"{ref.name}.json").read_bytes()) for ref in slices]
    kept = [entry for entry in entries if "skipped" not in entry]
    if not kept:
        raise InputRefused(f"no slice could be used; the first error: {entries[0]['skipped']}")
    known = json.loads(plan)
    manifest = {
        "format": FORMAT,
        "notice": NOTICE,
        "version": __version__,
        **known["recipe"],
        "plan_sha256": sha256(plan),
        "passed_over": passed_over,
        "skipped": [entry["skipped"] for entry in entries if "skipped" in entry],
        "slices": kept,
    }
    files = {out / MANIFEST: json.dumps(manifest, indent=1).encode()}
    if known["recipe"]["layout"] == "benchmark":
        splits = dict.fromkeys(entry["split"] for entry in kept)
        for split in splits:
            name = benchmark.LIST if len(splits) == 1 else benchmark.list_name(split)
            lines = "".join(f"{entry['file']}\n" for entry in kept if entry["split"] == split)
            files = {out / name: lines.encode()} | files
    write_atomically(files)
    shutil.rmtree(out / DONE)
    (out / PLAN).unlink()
    if not any((out / FOLDER).iterdir()):
        (out / FOLDER).rmdir()


def _work(missing: list[list[SliceRef]], context: tuple[Any, ...], workers: int) -> Iterator[int]:
    """Simulate slices or slabs in processes with one thread each, so that results do not depend on their number."""
    if not missing:
        return
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(missing)), spawn, _begin, (os.getpid(), context))
    todo, running = iter(missing), set[Future[int]]()
    with _deaf_children():
        running |= {pool.submit(_one, group) for group in islice(todo, workers)}
    try:
        for group in todo:
            running.add(pool.submit(_one, group))
            if len(running) < 2 * workers:
                continue
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()
    except BrokenProcessPool as error:
        raise ResourceError("a worker died, perhaps out of memory; repeat with fewer --workers") from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Start processes that ignore Ctrl-C; the parent stops them."""
    before = signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if main:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGINT, before)


_context: tuple[Any, ...] = ()


def _begin(parent: int, context: tuple[Any, ...]) -> None:
    import torch

    global _context
    _context = context
    torch.set_num_threads(1)

    def leave_with(parent: int) -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=leave_with, args=(parent,), daemon=True).start()


def _one(group: list[SliceRef]) -> int:
    """Simulate a slice, or the slices of a slab; return their number."""
    recipe, shapes, masks, out, skip_bad = _context
    try:
        if recipe.slab:
            made = make_slab(group, recipe)
            notes = [{"slab": group[0].name, "z_mm": ref.z_mm} for ref in group]
        else:
            made, notes = [make_slice(ref, recipe, shapes, masks) for ref in group], [{}]
        entries = [_write(ref, one, recipe, out) | note for ref, one, note in zip(group, made, notes, strict=True)]
    except InputRefused as error:
        if not skip_bad:
            raise
        entries = [{"skipped": _without_place(str(error), group[0])} for _ in group]
    for ref, entry in zip(group, entries, strict=True):
        write_atomically({out / DONE / f"{ref.name}.json": json.dumps(entry).encode()})
    return len(group)


def _without_place(message: str, ref: SliceRef) -> str:
    """Remove the path from a stored message: file names may contain names of patients."""
    return message.replace(f" ({ref.place})", "").replace(ref.place or "\0", "its file")


def _write(ref: SliceRef, made: MadeSlice, recipe: Recipe, out: Path) -> dict[str, Any]:
    """Write the files of a slice; return its entry of the manifest."""
    if recipe.layout == "store":
        clean = made.without_metal[0] if made.without_metal else None
        files = {f"{FOLDER}/{ref.name}.safetensors": pack_slice(made.pairs, recipe.sinograms, clean, made.fitted)}
    else:
        assert made.without_metal is not None
        files = {f"{ref.name}/{k}.h5": benchmark.pair_file(pair) for k, pair in enumerate(made.pairs)}
        files[f"{ref.name}/gt.h5"] = benchmark.clean_file(made.pairs[0].clean, *made.without_metal)
        (out / ref.name).mkdir(exist_ok=True)
    write_atomically({out / name: data for name, data in files.items()})
    first = next(reversed(files))
    return {
        "name": ref.name,
        "file": first,
        "sha256": sha256(files[first]),
        "files": {name: sha256(data) for name, data in files.items() if name != first},
        "patient": ref.patient,
        "split": ref.split,
        "pixel_mm": made.pixel_mm,
        "source_sha256": made.raw.sha256,
        **ref.notes,
        "pairs": [
            {"kind": implant.kind, "metal_pixels": int(pair.metal.sum()), **pair.settings}
            for implant, pair in zip(made.implants, made.pairs, strict=True)
        ],
    }
