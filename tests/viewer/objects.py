"""Objects written into a result by hand: metal, doubtful and dropped ones; and jobs with such results."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from acdnet.viewer.job import DONE, UPLOAD
from acdnet.viewer.jobs import Jobs
from tests.reduction.make import SIZE, change_report

PLACES = {1: np.s_[44:54, 56:68], 2: np.s_[50:64, 22:36], 3: np.s_[24:34, 48:58]}
"""Rows and columns of each object."""
SLICES = {1: (2, 3), 2: (1, 2), 3: (3, 3)}
"""First and last slice of each, from 1."""
DECISIONS = {1: "metal", 2: "doubtful", 3: "dropped"}
PROBABILITIES = {1: 0.97, 2: 0.354, 3: 0.61}
WORKER = """
import json, pathlib, shutil, sys
place, options = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2])
if 1 in options["drop"]:
    (place / f".{options['target']}.partial").mkdir()
    (place / "progress.json").write_text(json.dumps({"message": "no room", "needs": "series", "choices": ["a"]}))
    sys.exit(4)
if not (place / options["target"]).is_dir():
    shutil.copytree(place / "result", place / "unfinished")
    report = json.loads((place / "unfinished/report.json").read_text())
    for one in report["objects"]:
        one["decision"] = "kept" if one["number"] in options["keep"] else "dropped"
    (place / "unfinished/report.json").write_text(json.dumps(report))
    (place / "unfinished").rename(place / options["target"])
(place / "progress.json").write_text(json.dumps({"message": "look here"}))
"""
"""A worker that writes down the decisions, but fails when it has to drop object 1."""


def entries() -> list[dict[str, Any]]:
    """Return the objects of the report."""
    found = []
    for number, (first, last) in SLICES.items():
        rows, columns = PLACES[number]
        high, wide = rows.stop - rows.start, columns.stop - columns.start
        found.append(
            {
                "number": number,
                "decision": DECISIONS[number],
                "probability": PROBABILITIES[number],
                "first_slice": first,
                "last_slice": last,
                "slice": first,
                "row": rows.start + high // 2,
                "column": columns.start + wide // 2,
                "pixels": high * wide * (last - first + 1),
                "peak_hu": 3071.0,
            }
        )
    return found


def labels(number: int) -> Any:
    """Return the numbers of the objects in the pixels of a slice, counted from 0."""
    numbers = np.zeros((SIZE, SIZE), np.uint16)
    for one, (first, last) in SLICES.items():
        if first <= number + 1 <= last:
            numbers[PLACES[one]] = one
    return numbers


def write_objects(out: Path) -> Path:
    """Write the objects into a result of three slices."""
    change_report(out, objects=entries())
    for n in range(3):
        path = out / "maps" / f"{n + 1:04d}.npz"
        arrays: dict[str, Any] = {**np.load(path)} if path.is_file() else {"metal": np.zeros((SIZE, SIZE), bool)}
        np.savez(path, **(arrays | {"objects": labels(n)}))
    return out


def add(jobs: Jobs, result: Path, **changes: Any) -> str:
    """Add a job that is done and kept its upload."""
    job = jobs.create(1, "dicom")
    shutil.copytree(result, jobs.folder / job.id / "result")
    (jobs.folder / job.id / UPLOAD / "00001").write_bytes(b"a slice")
    jobs.change(job, **({"state": DONE, "received": 1, "objects": 3} | changes))
    return job.id
