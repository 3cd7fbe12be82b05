"""Limits of connections: those that take too long are closed, and others are served."""

import errno
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from acdnet.viewer.connections import ConnectionLimits, connection_limits
from acdnet.viewer.headers import HEADERS
from acdnet.viewer.jobs import Jobs
from tests.viewer.server import TOKEN, until
from tests.viewer.sockets import Address, rest_of, serving

SHORT = ConnectionLimits(20, header_seconds=0.4, body_seconds=0.6, body_bytes=10, send_seconds=0.4)
MANY = 300
FILES = 256
"""Open files that macOS allows a process."""


@pytest.fixture
def short(jobs: Jobs) -> Iterator[Address]:
    with serving(SHORT, jobs) as address:
        yield address


@pytest.mark.parametrize("start", [b"", b"GET /a HTTP/1.1\r\nX: ", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n\r\nGET"])
def test_f64_slow_headers_have_a_deadline(start: bytes, short: Address) -> None:
    begun = time.monotonic()
    with short.connect(start) as opened:
        answer = rest_of(opened)
    assert time.monotonic() - begun < 5
    assert answer[9:12] in ((b"403", b"400") if b"\r\n\r\n" in start else (b"", b"400", b"408"))
    assert b"nosniff" in answer or not answer


def test_f64_a_header_that_drips_has_the_same_deadline(short: Address) -> None:
    with short.connect(b"GET / HTTP/1.1\r\n") as opened:
        opened.settimeout(0.02)
        for _ in range(200):
            try:
                opened.sendall(b"X: y\r\n")
                answer = opened.recv(2**16)
            except TimeoutError:
                continue
            except OSError:
                break
            assert answer.startswith(b"HTTP/1.1 408")
            break
        else:
            raise AssertionError("not closed")
    assert short.serves()


def test_f64_slow_bodies_with_a_token_have_a_deadline(short: Address, jobs: Jobs) -> None:
    job = jobs.create(1, "dicom")
    with short.connect(short.head(f"PUT api/jobs/{job.id}/files/0", "Content-Length: 1000") + b"begun") as opened:
        until(lambda: [*jobs.folder.glob("*/upload/.*")])
        assert rest_of(opened) == b""
    until(lambda: not [*jobs.folder.glob("*/upload/.*")])
    with short.connect(short.head(f"PUT api/jobs/{job.id}/files/0", "Content-Length: 100")) as opened:
        for _ in range(10):
            opened.sendall(b"0123456789")  # slow, but fast enough
            time.sleep(0.1)
        assert opened.recv(12) == b"HTTP/1.1 200"
    assert jobs.get(job.id).received == 1


def test_f64_a_client_that_accepts_no_answer_is_closed(short: Address, jobs: Jobs) -> None:
    with short.connect(short.head("GET static/cornerstone.js") * 100) as opened:
        until(lambda: short.connections() == 1)
        until(lambda: short.connections() == 0, 10)
        sent = rest_of(opened)
    assert 0 < len(sent) < 100 * 10**5
    assert short.serves()


def test_f64_many_open_connections_and_others_are_served() -> None:
    limits = ConnectionLimits(20)  # the usual deadlines, which no connection reaches here
    with serving(limits) as address, ExitStack() as stack:
        kept = [stack.enter_context(address.connect(b"GET / HTTP/1.1\r\n")) for _ in range(MANY)]
        assert address.serves()
        assert not address.serves("another")
        kept[0].settimeout(1)
        assert rest_of(kept[0]) == b""  # the oldest was closed for a newer one
        kept[-1].sendall(b"\r\n")
        assert kept[-1].recv(12) == b"HTTP/1.1 400"  # without a host


def test_f64_requests_at_work_are_not_closed_for_others(jobs: Jobs) -> None:
    job = jobs.create(9, "dicom")
    with serving(ConnectionLimits(3), jobs) as address, ExitStack() as stack:
        for n in range(3):
            head = address.head(f"PUT api/jobs/{job.id}/files/{n}", "Content-Length: 1000")
            stack.enter_context(address.connect(head))
        until(lambda: len([*jobs.folder.glob("*/upload/.*")]) == 3)
        with address.connect(address.head("GET api/start")) as refused:
            answer = rest_of(refused)
        assert answer.startswith(b"HTTP/1.1 503")
        assert all(f"{name}: {value}".lower().encode() in answer.lower() for name, value in HEADERS.items())
        assert len([*jobs.folder.glob("*/upload/.*")]) == 3


def test_f64_at_256_file_descriptors(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "acdnet", "serve", "--folder", str(tmp_path / "jobs"), "--no-browser"]
    limited = f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES}, {FILES}))"
    run = f"{limited}; os.execv(sys.executable, {command!r})"
    output = tmp_path / "output"
    with output.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-c", run], stdout=file, stderr=file)
    try:
        found = until(lambda: re.search(r":(\d+)/(\S+)/\n", output.read_text()), 60)
        address = Address(int(found[1]))
        with ExitStack() as stack:
            for _ in range(MANY):
                stack.enter_context(address.connect(b"GET / HTTP/1.1\r\n"))
            for _ in range(3):
                assert address.serves(found[2])
    finally:
        process.terminate()
        process.wait(20)
    assert "Traceback" not in output.read_text()


def test_f64_the_limit_leaves_files_for_other_things() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        for files in (64, FILES, 1024, min(soft, 10_000)):
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
            assert 8 <= connection_limits().connections < files // 2
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_f78_what_is_no_request_is_answered_with_the_headers(short: Address) -> None:
    host = f"Host: 127.0.0.1:{short.port}\r\n".encode()
    requests = [
        b"\x00\x01\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + host * 2 + b"\r\n",
        b"GET / HTTP/1.1\r\n" + host + b"X: " + b"y" * 200_000 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + host + b"Content-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + host + b"Content-Length: 1\r\nTransfer-Encoding: x\r\n\r\n",
        f"GET /{TOKEN}\xff HTTP/1.1\r\n".encode("latin-1") + host + b"\r\n",
        short.head("POST api/jobs", "Transfer-Encoding: chunked") + b"zz\r\n",
    ]
    for request in requests:
        with short.connect() as opened:
            opened.sendall(request)
            answer = rest_of(opened)
        assert re.match(rb"HTTP/1.1 (400|403|501) ", answer), request[:60]
        for name, value in (HEADERS | {"Cache-Control": "no-store"}).items():
            assert f"\r\n{name}: {value}\r\n".lower().encode() in answer.lower(), request[:60]


def test_f64_a_client_that_is_gone_before_its_refusal_harms_nobody(
    short: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection may end between the deadline and the answer."""
    asked = []

    def not_connected(transport: Any) -> None:
        asked.append(transport)
        raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")

    monkeypatch.setattr("asyncio.selector_events._SelectorSocketTransport.write_eof", not_connected)
    with short.connect(b"GET / HTTP/1.1\r\n") as opened:
        rest_of(opened)
    assert asked
    assert short.serves()
