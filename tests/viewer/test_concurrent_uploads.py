"""Fifty scans at once, broken ones among them, and a server that is killed in the middle."""

from __future__ import annotations

import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from acdnet.viewer.jobs import Jobs
from tests.reduction.make import series
from tests.viewer.server import Server, Uploads, files, until, works_on

MANY = 50
LARGE, MOST_GROWTH = 8 * 2**20, 120
"""Bytes of a file, and the megabytes by which the server may grow when fifty of them come: of 420."""
LIGHT = """
import os, pathlib, sys
place = pathlib.Path(sys.argv[2])
with open(sys.argv[1], "a") as log:
    log.write(place.name + "\\n")
(place / "result").mkdir()
"""
"""A worker that notes whom it was called for."""


def test_fifty_at_once_and_a_server_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = files(series(tmp_path / "scan", (True,)))
    broken = ([os.urandom(2000)], [good[0][:-500]], [b""], [os.urandom(2**20), good[0][:200]])
    folder = tmp_path / "jobs"
    server = Server(folder)
    uploads, gate = Uploads(server), Barrier(MANY)

    def send(n: int) -> None:
        gate.wait(30)
        uploads.send(good if n % 5 == 0 else broken[n % len(broken)], n % 5 == 0)

    with ThreadPoolExecutor(MANY) as pool:
        sent = [pool.submit(send, n) for n in range(MANY)]
        until(lambda: len(uploads.accepted) >= MANY // 2)
        server.kill()  # while the first is being worked on, some are waiting, and some on their way
        for one in sent:
            one.result()
    until(lambda: not works_on(folder), 10)  # nothing works on without its server
    accepted = set(uploads.accepted)

    log = tmp_path / "log"
    monkeypatch.setattr("acdnet.viewer.queue.WORKER", (sys.executable, "-S", "-c", LIGHT, str(log)))
    again = Jobs(folder, start=False)
    found = {job.id: job.state for job in again.all()}
    assert accepted <= set(found)  # none is lost
    assert len({job.number for job in again.all()}) == len(found) <= MANY  # and none doubled
    for job in again.all():
        if job.id not in uploads.requested:
            assert "interrupted" in job.message
        if job.id in accepted:
            assert job.state in ("queued", "done", "failed")
            assert "interrupted" not in job.message
    again.queue.start()
    until(lambda: all(job.state in ("done", "failed") for job in again.all()), 30)
    again.close()
    waiting = [name for name, state in found.items() if state == "queued"]
    assert len(waiting) >= MANY // 2 - 5
    assert log.read_text().split() == waiting  # each once, in the order in which they came
    assert Counter(job.state for job in again.all() if job.id in waiting) == {"done": len(waiting)}
    assert {place.name for place in folder.iterdir() if not place.name.startswith(".")} == set(found)


def test_fifty_large_files_do_not_stay_in_memory(tmp_path: Path) -> None:
    server = Server(tmp_path / "jobs")
    name = Uploads(server).create(MANY)
    before = server.most_memory()
    data = bytes(LARGE)
    with ThreadPoolExecutor(MANY) as pool:
        list(pool.map(lambda n: server.ask(f"jobs/{name}/files/{n}", "PUT", data), range(MANY)))
    assert server.ask("jobs")[0]["bytes"] == MANY * LARGE
    grown = server.most_memory() - before
    server.kill()
    assert grown < MOST_GROWTH
