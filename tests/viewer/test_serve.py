"""The server as a process: who gets in, what it prints, and what is left after it was killed."""

import json
import os
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from urllib.parse import urlsplit

import numpy as np
import pydicom
import pytest

from acdnet.viewer.job import ENDED
from acdnet.viewer.jobs import Jobs
from tests.reduction.make import run, series
from tests.viewer.server import Server, Uploads, files, until, works_on

NAME = "Secret"
"""The patient in the scans of tests."""
FIFTY = 50
LARGE, MOST_GROWTH = 8 * 2**20, 120
"""Bytes of a file, and the megabytes by which fifty of them (420 MB) may enlarge the server."""
LIGHT = """
import os, pathlib, sys
place = pathlib.Path(sys.argv[2])
with open(sys.argv[1], "a") as log:
    log.write(place.name + "\\n")
(place / "result").mkdir()
"""
"""A worker that notes which job it was started for."""
MANY, HALVES, SLICES = 10, 3, 4


@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGTERM])
def test_f54_a_server_listens_on_one_address_until_it_is_stopped(signal_: signal.Signals, tmp_path: Path) -> None:
    server = Server(tmp_path / "jobs")
    port = urlsplit(server.address).port
    try:
        with socket.create_connection(("127.0.0.1", port), 5):
            pass
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), 5)
    finally:
        code = server.end(signal_)
    assert code in (0, 128 + signal_)
    assert sorted(path.name for path in (tmp_path / "jobs").iterdir()) == []  # it was cleaned up


def test_f55_neither_token_nor_patient_is_logged(tmp_path: Path) -> None:
    scan = files(series(tmp_path / "scan", (True,), RescaleType=NAME))  # named by the error
    server = Server(tmp_path / "jobs")
    uploads = Uploads(server)
    sent = [scan, [f"{NAME} is no image".encode()]]
    try:
        for one in sent:
            assert NAME.encode() in one[0]
            uploads.send(one, False)
        with pytest.raises(urllib.error.HTTPError):
            server.ask(f"jobs/{NAME}/start", "POST", b"")
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(server.address.replace(server.token, f"x{server.token}"))
        until(lambda: all(job["state"] == "failed" for job in server.ask("jobs")), 60)
        assert len(server.ask("jobs")) == len(sent)
        assert "RescaleType is ...; only HU" in server.ask("jobs")[0]["message"]
        assert NAME not in json.dumps(server.ask("jobs"))
    finally:
        server.end(signal.SIGTERM)
    printed = server.output.read_text()
    assert printed.count(server.token) == 1  # the address that is printed at the start
    assert printed.splitlines()[0] == f"Viewer: {server.address}"
    kept = [path for path in (tmp_path / "jobs").rglob("*") if path.is_file()]
    assert {path.name for path in kept} == {".numbers", "job.json", "progress.json"}
    for text in (printed, *(path.read_text() for path in kept)):
        assert NAME not in text
    assert not any(server.token in path.read_text() or server.token in str(path) for path in kept)


@pytest.mark.parametrize("used", [True, False])
def test_the_redirect_page_is_removed(used: bool, tmp_path: Path) -> None:
    browser, seen, pages = tmp_path / "browser.py", tmp_path / "seen", tmp_path / "pages"
    browser.write_text("import os, sys\nopen(os.environ['SEEN'], 'w').write(sys.argv[1])\n")
    pages.mkdir()
    environment = {"BROWSER": f"{sys.executable} {browser} %s", "SEEN": str(seen), "TMPDIR": str(pages)}
    server = Server(tmp_path / "jobs", "--browser", **environment)
    until(lambda: seen.is_file() and seen.read_text(), 20)
    (page,) = pages.glob("acdnet-*.html")
    assert seen.read_text() == page.as_uri()
    assert (page.stat().st_mode & 0o777) == 0o600
    assert server.address in page.read_text()
    if used:
        urllib.request.urlopen(server.address).read()
        until(lambda: not page.exists(), 5)
    assert server.end(signal.SIGTERM) == 128 + signal.SIGTERM
    assert not page.exists()
    assert not (tmp_path / "jobs" / ".lock").exists()


@pytest.mark.slow
def test_fifty_uploads_to_a_server_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = files(series(tmp_path / "scan", (True,)))
    broken = ([os.urandom(2000)], [good[0][:-500]], [b""], [os.urandom(2**20), good[0][:200]])
    folder = tmp_path / "jobs"
    server = Server(folder)
    uploads, gate = Uploads(server), Barrier(FIFTY)

    def send(n: int) -> None:
        gate.wait(30)
        uploads.send(good if n % 5 == 0 else broken[n % len(broken)], n % 5 == 0)

    with ThreadPoolExecutor(FIFTY) as pool:
        sent = [pool.submit(send, n) for n in range(FIFTY)]
        until(lambda: len(uploads.accepted) >= FIFTY // 2)
        server.kill()  # while the first runs, some are queued, and some are being uploaded
        for one in sent:
            one.result()
    until(lambda: not works_on(folder), 10)  # no worker outlives its server
    accepted = set(uploads.accepted)

    log = tmp_path / "log"
    monkeypatch.setattr("acdnet.viewer.queue.WORKER", (sys.executable, "-S", "-c", LIGHT, str(log)))
    again = Jobs(folder, start=False)
    found = {job.id: job.state for job in again.all()}
    assert accepted <= set(found)  # none is lost
    assert len({job.number for job in again.all()}) == len(found) <= FIFTY  # and none duplicated
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
    assert len(waiting) >= FIFTY // 2 - 5
    assert log.read_text().split() == waiting  # each once, in the order in which they came
    assert Counter(job.state for job in again.all() if job.id in waiting) == {"done": len(waiting)}
    assert {place.name for place in folder.iterdir() if not place.name.startswith(".")} == set(found)


@pytest.mark.slow
def test_fifty_large_files_do_not_stay_in_memory(tmp_path: Path) -> None:
    server = Server(tmp_path / "jobs")
    name = Uploads(server).create(FIFTY)
    before = server.most_memory()
    data = bytes(LARGE)
    with ThreadPoolExecutor(FIFTY) as pool:
        list(pool.map(lambda n: server.ask(f"jobs/{name}/files/{n}", "PUT", data), range(FIFTY)))
    assert server.ask("jobs")[0]["bytes"] == FIFTY * LARGE
    grown = server.most_memory() - before
    server.kill()
    assert grown < MOST_GROWTH


def reducing(server: Server, name: str) -> bool:
    job = next(job for job in server.ask("jobs") if job["id"] == name)
    assert job["state"] not in ENDED, job
    return bool(job["state"] == "running" and job["progress"].get("what") == "reducing")


def watch(server: Server, seen: dict[str, list[str]]) -> bool:
    """Note the states of all jobs; return whether all have ended."""
    jobs = server.ask("jobs")
    names = [job["id"] for job in jobs]
    assert len(names) == len(set(names))
    for job in jobs:
        states = seen.setdefault(job["id"], [])
        if not states or states[-1] != job["state"]:
            states.append(job["state"])
    return all(job["state"] in ENDED for job in jobs)


@pytest.mark.slow
def test_a_server_killed_during_uploads_and_a_reduction_completes_every_accepted_job(tmp_path: Path) -> None:
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
            go.wait(60)  # these are being uploaded when the server is killed
        uploads.send(broken[n % len(broken)], False)

    with ThreadPoolExecutor(MANY) as pool:
        sent = [pool.submit(send, n) for n in range(MANY)]
        until(lambda: len(uploads.accepted) == MANY // 2)
        uploads.start(first, True)  # it has the lowest number and comes next
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
        assert set(accepted) <= set(seen)  # none is lost, and none was invented
        assert len(seen) <= MANY + HALVES + 1
        until(lambda: any(job["state"] == "running" for job in server.ask("jobs")))
        server.kill()  # once more
        until(lambda: not works_on(folder), 10)
        server = Server(folder)
        until(lambda: watch(server, seen), 120)
        jobs = {job["id"]: job for job in server.ask("jobs")}
    finally:
        server.kill()

    for name, whole in accepted.items():
        assert jobs[name]["state"] == ("done" if whole else "failed"), jobs[name]
        assert (folder / name / "result" / "report.json").is_file() == whole
    for name in set(jobs) - uploads.requested:  # a job whose answer was lost may have been started
        assert "interrupted" in jobs[name]["message"], jobs[name]
    for states in seen.values():
        assert sum(state in ENDED for state in states) == 1, states  # each ends once
    left = {path.name for path in folder.iterdir()}
    assert left - {".numbers", ".lock"} == set(jobs)
    kept = {name for name, job in jobs.items() if job["objects"]}  # they can be reduced again
    assert {path.parent.name for path in folder.glob("*/upload")} == kept
    assert list(folder.rglob("*.part*")) == []  # partial uploads leave nothing
    for n in range(1, SLICES + 1):
        ours, theirs = (
            pydicom.dcmread(place / f"reduced/{n:04d}.dcm")
            for place in (folder / first / "result", tmp_path / "expected")
        )
        assert np.array_equal(ours.pixel_array, theirs.pixel_array)
