"""A server that is killed while scans arrive and while one is being reduced: what it accepted is done, once."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import numpy as np
import pydicom

from tests.reduction.make import run, series
from tests.viewer.server import Server, Uploads, files, until, works_on

MANY, HALVES, SLICES = 10, 3, 4
ENDED = ("done", "failed", "cancelled")


def reducing(server: Server, name: str) -> bool:
    job = next(job for job in server.ask("jobs") if job["id"] == name)
    assert job["state"] not in ENDED, job
    return bool(job["state"] == "running" and job["progress"].get("what") == "reducing")


def watch(server: Server, seen: dict[str, list[str]]) -> bool:
    """Note the states that jobs go through; tell whether all have ended."""
    jobs = server.ask("jobs")
    names = [job["id"] for job in jobs]
    assert len(names) == len(set(names))
    for job in jobs:
        states = seen.setdefault(job["id"], [])
        if not states or states[-1] != job["state"]:
            states.append(job["state"])
    return all(job["state"] in ENDED for job in jobs)


def test_a_server_is_killed_while_scans_arrive_and_one_is_reduced(tmp_path: Path) -> None:
    long, good = series(tmp_path / "long", (True,) * SLICES), files(series(tmp_path / "good", (True,)))
    assert run("reduce", long, tmp_path / "expected").code == 0
    broken = ([os.urandom(2000)], [b""], [good[0][:200], os.urandom(10)])
    folder = tmp_path / "jobs"
    server = Server(folder)
    uploads = Uploads(server)
    first = uploads.upload(files(long))
    for _ in range(HALVES):
        uploads.send_half(good[0])
    go = Event()

    def send(n: int) -> None:
        if n >= MANY // 2:
            go.wait(60)  # these are on their way when the server is killed
        uploads.send(broken[n % len(broken)], False)

    with ThreadPoolExecutor(MANY) as pool:
        sent = [pool.submit(send, n) for n in range(MANY)]
        until(lambda: len(uploads.accepted) == MANY // 2)
        uploads.start(first, True)  # it has the lowest number, and is next
        until(lambda: reducing(server, first))
        assert len(list(folder.glob("*/upload/.*.part"))) == HALVES
        go.set()
        time.sleep(0.1)
        server.kill()
        for one in sent:
            one.result()
    for opened in uploads.halves:
        opened.close()
    accepted = dict(uploads.accepted)
    assert MANY // 2 < len(accepted) <= MANY + 1
    until(lambda: not works_on(folder), 10)

    seen: dict[str, list[str]] = {}
    server = Server(folder)
    try:
        watch(server, seen)
        assert set(accepted) <= set(seen)  # none is lost, and none was made up
        assert len(seen) <= MANY + HALVES + 1
        until(lambda: any(job["state"] == "running" for job in server.ask("jobs")))
        server.kill()  # and once more, without mercy
        until(lambda: not works_on(folder), 10)
        server = Server(folder)
        until(lambda: watch(server, seen), 120)
        jobs = {job["id"]: job for job in server.ask("jobs")}
    finally:
        server.kill()

    for name, whole in accepted.items():
        assert jobs[name]["state"] == ("done" if whole else "failed"), jobs[name]
        assert (folder / name / "result" / "report.json").is_file() == whole
    for name in set(jobs) - uploads.requested:  # where only the answer was lost, it may have been heard
        assert "interrupted" in jobs[name]["message"], jobs[name]
    for states in seen.values():
        assert sum(state in ENDED for state in states) == 1, states  # what has ended stays so
    left = {path.name for path in folder.iterdir()}
    assert left - {".numbers", ".lock"} == set(jobs)
    assert list(folder.glob("*/upload")) == list(folder.rglob("*.part*")) == []  # half uploads leave nothing
    for n in range(1, SLICES + 1):
        ours, theirs = (
            pydicom.dcmread(place / f"reduced/{n:04d}.dcm")
            for place in (folder / first / "result", tmp_path / "expected")
        )
        assert np.array_equal(ours.pixel_array, theirs.pixel_array)
