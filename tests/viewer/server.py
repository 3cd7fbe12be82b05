"""The application of the viewer in this process, `acdnet serve` in its own, and finished jobs without an upload."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from fastapi.testclient import TestClient

from acdnet.viewer.app import make_app
from acdnet.viewer.job import DONE, ENDED
from acdnet.viewer.jobs import Jobs

TOKEN, PORT = "a-token-for-tests", 8123
API = f"/{TOKEN}/api"
CUT_OFF = (urllib.error.URLError, http.client.HTTPException, OSError)


def client_of(results: dict[str, Path] | None = None, jobs: Jobs | None = None) -> TestClient:
    """Return a client of an application with these results and jobs."""
    return TestClient(make_app(TOKEN, results or {}, jobs, port=PORT), base_url=f"http://127.0.0.1:{PORT}")


def submit(client: TestClient, files: list[bytes]) -> str:
    """Upload files as one job and start it; return its id."""
    name: str = client.post(f"{API}/jobs", json={"files": len(files), "kind": "dicom"}).json()["id"]
    for n, data in enumerate(files):
        assert client.put(f"{API}/jobs/{name}/files/{n}", content=data).status_code == 200
    assert client.post(f"{API}/jobs/{name}/start").status_code == 200
    return name


def ended(client: TestClient, name: str) -> dict[str, Any]:
    """Wait until a job has ended; return its record."""

    def job() -> dict[str, Any] | None:
        found: dict[str, Any] = next(job for job in client.get(f"{API}/jobs").json() if job["id"] == name)
        return found if found["state"] in ENDED else None

    found: dict[str, Any] = until(job)
    return found


class Server:
    """A server process and its output."""

    def __init__(self, folder: Path, *options: str, **environment: str) -> None:
        command = [sys.executable, "-m", "acdnet", "serve", "--folder", str(folder), *(options or ["--no-browser"])]
        self.output = folder.with_name(f"{folder.name}-output-{time.monotonic_ns()}")
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, **environment})
        found = until(lambda: re.search(r"http\S+/\n", self.output.read_text()), 60)
        self.address = found[0].strip()
        self.token = urlsplit(self.address).path.strip("/")

    def ask(self, path: str, method: str = "GET", data: bytes | None = None) -> Any:
        request = urllib.request.Request(f"{self.address}api/{path}", data, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    def most_memory(self) -> int:
        """Return its peak memory in MB."""
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        assert found
        return int(found[1]) // 1000

    def end(self, how: signal.Signals = signal.SIGKILL) -> int:
        """Send it a signal and return its exit code."""
        self.process.send_signal(how)
        return self.process.wait(20)

    def kill(self) -> None:
        self.end()


class Uploads:
    """The uploads sent to a server, and its answers."""

    def __init__(self, server: Server) -> None:
        self.server, self.lock = server, Lock()
        self.created: set[str] = set()
        self.requested: set[str] = set()
        """Jobs whose start was requested, whether answered or not."""
        self.accepted: dict[str, bool] = {}
        """Jobs whose start was confirmed, and whether their scan is complete."""
        self.halves: list[socket.socket] = []

    def create(self, files: int) -> str:
        name: str = self.server.ask("jobs", "POST", json.dumps({"files": files, "kind": "dicom"}).encode())["id"]
        with self.lock:
            assert name not in self.created
            self.created.add(name)
        return name

    def upload(self, files: list[bytes]) -> str:
        name = self.create(len(files))
        for n, data in enumerate(files):
            self.server.ask(f"jobs/{name}/files/{n}", "PUT", data)
        return name

    def start(self, name: str, whole: bool) -> None:
        with self.lock:
            self.requested.add(name)
        self.server.ask(f"jobs/{name}/start", "POST", b"")
        with self.lock:
            self.accepted[name] = whole

    def send(self, files: list[bytes], whole: bool) -> None:
        """Upload and start a scan; ignore a connection that is cut off."""
        with suppress(*CUT_OFF):
            self.start(self.upload(files), whole)

    def send_half(self, data: bytes) -> None:
        """Send the first half of a file and keep the connection open."""
        name, place = self.create(1), urlsplit(self.server.address)
        opened = socket.create_connection((place.hostname, place.port))
        head = (
            f"PUT {place.path}api/jobs/{name}/files/0 HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: {len(data)}"
        )
        opened.sendall(f"{head}\r\n\r\n".encode() + data[: len(data) // 2])
        self.halves.append(opened)


def until(what: Any, seconds: float = 120.0) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not true after {seconds} s")


def works_on(folder: Path) -> bool:
    """Return whether a worker is still running for a job of a folder."""
    found = subprocess.run(["pgrep", "-f", f"acdnet.viewer.worker {folder}"], capture_output=True, text=True)
    return found.stdout != ""


def add_finished(jobs: Jobs, result: Path) -> str:
    """Add a finished job with a copy of a result; return its id."""
    job = jobs.create(1, "dicom")
    shutil.copytree(result, jobs.folder / job.id / "result")
    jobs.change(job, state=DONE)
    return job.id


def store_results(folder: Path, *results: Path) -> Path:
    """Create a job folder with one finished job per result."""
    jobs = Jobs(folder, start=False)
    for result in results:
        add_finished(jobs, result)
    jobs.close()
    return folder


def files(folder: Path) -> list[bytes]:
    """Return the contents of the files of a folder, sorted by name."""
    return [path.read_bytes() for path in sorted(folder.iterdir())]
