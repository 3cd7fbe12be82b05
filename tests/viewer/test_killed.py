"""A server that is killed while scans arrive and while one is being reduced: what it accepted is done, once."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import time
import urllib.error
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pydicom

from tests.reduction.make import run, series
from tests.viewer.test_jobs import Server

MANY, GOOD_EVERY, HALVES = 36, 9, 6
ENDED = ("done", "failed", "cancelled")
CUT_OFF = (urllib.error.URLError, http.client.HTTPException, OSError)


class Uploads:
    """What was sent to a server, and what it answered."""

    def __init__(self, server: Server) -> None:
        self.server, self.lock = server, Lock()
        self.created: set[str] = set()
        self.accepted: dict[str, bool] = {}
        """Jobs whose start was answered, and whether they are whole."""
        self.halves: list[socket.socket] = []

    def create(self, files: int) -> str:
        name: str = self.server.ask("jobs", "POST", json.dumps({"files": files, "kind": "dicom"}).encode())["id"]
        with self.lock:
            self.created.add(name)
        return name

    def upload(self, files: list[bytes]) -> str:
        name = self.create(len(files))
        for n, data in enumerate(files):
            self.server.ask(f"jobs/{name}/files/{n}", "PUT", data)
        return name

    def start(self, name: str, whole: bool) -> None:
        self.server.ask(f"jobs/{name}/start", "POST", b"")
        with self.lock:
            self.accepted[name] = whole

    def send(self, files: list[bytes], whole: bool) -> None:
        """Upload a scan; a server that is killed meanwhile has not accepted it."""
        with suppress(*CUT_OFF):
            self.start(self.upload(files), whole)

    def send_half(self, data: bytes) -> None:
        """Begin to send a file, and stop in its middle."""
        name, place = self.create(1), urlsplit(self.server.address)
        opened = socket.create_connection((place.hostname, place.port))
        head = (
            f"PUT {place.path}api/jobs/{name}/files/0 HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: {len(data)}"
        )
        opened.sendall(f"{head}\r\n\r\n".encode() + data[: len(data) // 2])
        self.halves.append(opened)


def files(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def until(what: Any, seconds: float = 120.0) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not true after {seconds} s")


def reducing(server: Server, name: str) -> bool:
    job = next(job for job in server.ask("jobs") if job["id"] == name)
    assert job["state"] not in ENDED, job
    return bool(job["state"] == "running" and job["progress"].get("what") == "reducing")


def nothing_works_on(folder: Path) -> bool:
    found = subprocess.run(["pgrep", "-f", f"acdnet.viewer.work {folder}"], capture_output=True, text=True)
    return found.stdout == ""


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
    long, good = series(tmp_path / "long", (True,) * 12), files(series(tmp_path / "good", (True,)))
    assert run("reduce", long, tmp_path / "expected").code == 0
    broken = ([os.urandom(2000)], [good[0][: len(good[0]) // 2]], [b""], [good[0][:200], os.urandom(10)])
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
        whole = n % GOOD_EVERY == 0
        uploads.send(good if whole else broken[n % len(broken)], whole)

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
    until(lambda: nothing_works_on(folder), 10)

    seen: dict[str, list[str]] = {}
    server = Server(folder)
    try:
        watch(server, seen)
        assert set(accepted) <= set(seen)  # none is lost, and none was made up
        assert len(seen) <= MANY + HALVES + 1
        until(lambda: any(job["state"] == "running" for job in server.ask("jobs")))
        server.kill()  # and once more, without mercy
        until(lambda: nothing_works_on(folder), 10)
        server = Server(folder)
        until(lambda: watch(server, seen), 240)
        jobs = {job["id"]: job for job in server.ask("jobs")}
    finally:
        server.kill()

    for name, whole in accepted.items():
        assert jobs[name]["state"] == ("done" if whole else "failed"), jobs[name]
        assert (folder / name / "result" / "report.json").is_file() == whole
    for name in set(jobs) - set(accepted):  # cut off, unless its start was heard and only the answer was lost
        assert "interrupted" in jobs[name]["message"] or name in uploads.created
    for states in seen.values():
        assert sum(state in ENDED for state in states) == 1, states  # what has ended stays so
    left = {path.name for path in folder.iterdir()}
    assert left - {".numbers", ".lock"} == set(jobs)
    assert list(folder.glob("*/upload")) == list(folder.rglob("*.part*")) == []  # half uploads leave nothing
    for n in range(1, 13):
        ours, theirs = (
            pydicom.dcmread(place / f"reduced/{n:04d}.dcm")
            for place in (folder / first / "result", tmp_path / "expected")
        )
        assert np.array_equal(ours.pixel_array, theirs.pixel_array)
