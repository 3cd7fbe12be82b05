"""Hostile requests to the viewer: none ends in a fault of the server, and others are served all the while."""

import json
import re
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from acdnet.viewer.connections import ConnectionLimits
from acdnet.viewer.headers import HEADERS
from acdnet.viewer.job import UPLOADING
from acdnet.viewer.jobs import Jobs
from tests.viewer.server import TOKEN, add_finished
from tests.viewer.sockets import Address, rest_of, serving

LIMITS = ConnectionLimits(50, header_seconds=0.3, body_seconds=0.3, send_seconds=0.5)
CODES = {200, 204, 206, 307, 400, 403, 404, 405, 408, 416, 422, 503, 507}
SECRET = "a file of somebody else"
MAX_JOBS = 20
METHODS = ["GET", "POST", "PUT", "DELETE"] * 2 + ["HEAD", "OPTIONS", "TRACE", "PATCH", "CONNECT", "get", "X" * 9000, ""]
ROUTES = [
    *(
        "GET ",
        "GET static/{}",
        "GET api/start",
        "GET api/results/{}",
        "GET api/results/{}/slices/{}/{}",
        "GET api/jobs",
    ),
    *("GET api/results/{}/slices/{}/stages/about", "GET api/results/{}/slices/{}/stages/{}/{}/{}", "POST api/jobs"),
    *("DELETE api/jobs/{}", "PUT api/jobs/{}/files/{}", "POST api/jobs/{}/start", "POST api/jobs/{}/choose"),
    "POST api/jobs/{}/again",
    *("POST api/jobs/{}/cancel", "GET api/jobs/{}/download", "GET {}", "GET {}/{}/{}"),
]
USUAL = ["result", "after", "before", "metal", "app.js", "0", "1", "2", "images"]
WORDS = [
    *(
        "result",
        "after",
        "before",
        "difference",
        "metal",
        "expected_error_hu",
        "app.js",
        "index.html",
        "images",
        "maps",
    ),
    *("0", "1", "2", "-1", "99", "1e5", "0x1", "1.0", "+1", "%201", "٣", "9" * 25, "9" * 4500, "-0", "null", "NaN"),
    *("..", "../secret", "..%2fsecret", "%2e%2e%2f%2e%2e%2fsecret", "..%5csecret", "%252e%252e%252f", "....//secret"),
    *("%00", "a%00b", "%ff%fe", "%ed%a0%80", "%f0%9f%98%80", "%0d%0aX: y", "%1b[31m", "%", "%zz", "'\"<x>", "a" * 3000),
    *("~", "*", ";", "?", "?a=b&a=c", "#", "{}", "$(id)", "/etc/passwd", "//etc/passwd", "%2fetc%2fpasswd", "\\\\h\\s"),
    *(".new-0123456789abcdef", ".deleted-0123456789abcdef", ".numbers", ".lock", "job.json", "upload", ""),
]
LENGTHS = ["-1", "+5", "0x10", "1e3", "9" * 30, "5, 5", "5, 6", "", " ", "٣", "0", "1", "99999999"]
FIELDS = [
    *("Range: bytes=0-10", "Range: bytes=-5", "Range: bytes=99999999-", "Range: bytes=5-1", "Range: x"),
    *(f"Range: bytes={'0-1,' * 500}2-3", "Range: bytes=" + "9" * 5000, "If-Range: x", "If-None-Match: *"),
    *("Expect: 100-continue", "Expect: x", "Connection: upgrade\r\nUpgrade: websocket", "Upgrade: h2c"),
    *("Connection: keep-alive", "Connection: \xff", "Content-Type: text/xml", "Content-Type: multipart/form-data"),
    *("Content-Encoding: gzip", "Transfer-Encoding: gzip", "Transfer-Encoding: chunked, chunked", "TE: trailers"),
    *("Origin: null", "Origin: http://evil.example", "Origin:", "Cookie: a=b; a", "Referer: x", "Host: evil.example"),
    *("X-Forwarded-Host: evil.example", "Forwarded: host=evil.example", "X-HTTP-Method-Override: DELETE", ": x", "x"),
    *(
        "X: a\r\n b",
        "X: \x00",
        "X: \x7f",
        f"X: {'y' * 70_000}",
        f"{'X' * 3000}: y",
        "\r\n".join(["X: y"] * 400),
        " X: y",
    ),
]
VALUES: list[Any] = [
    *(
        0,
        1,
        2,
        3,
        -1,
        10**9,
        10**400,
        1.0,
        1e308,
        True,
        None,
        "",
        "dicom",
        "nii",
        "nii.gz",
        "\ud800",
        "\x00",
        "\x1b[31m",
    ),
    *("x" * 3000, [], [1], [10**400], {}, {"a": {}}, "../x", float("nan"), float("inf")),
]
BODIES = [
    *(b"", b"x", b"{", b"[]", b"null", b"\xff\xfe", b"\xef\xbb\xbf{}", b"[" * 4000, b'{"files":' * 400, b" " * 5000),
    *(b'{"files":' + b"9" * 4050 + b"}", b'{"files": 1, "files": 2}', b'{"files": 1e999}', bytes(100_000)),
]


def hostile(random: Random, names: list[str], port: int) -> tuple[bytes, bool, bool]:
    """Return a request, whether it has the token and is for this host, and whether it is complete."""
    words = random.choice([WORDS + names, USUAL + names * 5])
    method, _, route = re.sub("{}", lambda _: random.choice(words), random.choice(ROUTES)).partition(" ")
    if random.random() < 0.25:
        method = random.choice(METHODS)
    token = TOKEN if random.random() < 0.8 else random.choice(["", TOKEN[:-1], TOKEN.upper(), f"%2f{TOKEN}", "api"])
    target = f"/{token}/{route}" if random.random() < 0.97 else random.choice(["*", route, f"http://x/{TOKEN}/", "//"])
    host = (
        f"127.0.0.1:{port}" if random.random() < 0.95 else random.choice(["evil.example", "", f"[::1]:{port}", "\xff"])
    )
    body = _body(random)
    fields = [f"Host: {host}", *random.sample(FIELDS, random.choice([0, 0, 0, 1, 1, 3]))]
    framing, body = _framing(random, body)
    lines = [f"{method} {target} HTTP/1.1", *fields, *framing]
    if random.random() < 0.97:
        lines.append("Connection: close")
    head = "".join(f"{line}\r\n" for line in [*lines, ""])
    request = head.encode("utf-8" if random.random() < 0.1 else "latin-1", "replace") + body
    ours = token == TOKEN and host == f"127.0.0.1:{port}"
    whole = framing == [f"Content-Length: {len(body)}"] and len(fields) == 1
    if random.random() < 0.05:
        request, whole = _damaged(random, request), False
    return request, ours, whole


def _body(random: Random) -> bytes:
    if random.random() < 0.4:
        return random.choice(BODIES)
    return json.dumps({name: random.choice(VALUES) for name in ("files", "kind", "answer", "keep", "drop")}).encode()


def _framing(random: Random, body: bytes) -> tuple[list[str], bytes]:
    """Return the headers that say where the body ends, right or wrong."""
    kind = random.random()
    if kind < 0.7:
        return [f"Content-Length: {len(body)}"], body
    if kind < 0.8:
        chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
        return ["Transfer-Encoding: chunked"], chunks if random.random() < 0.5 else _damaged(random, chunks)
    if kind < 0.85:
        return [], body
    return [f"Content-Length: {length}" for length in random.sample(LENGTHS, random.choice([1, 1, 2]))], body


def _damaged(random: Random, data: bytes) -> bytes:
    """Return bytes of which some were changed or cut off."""
    changed = bytearray(data[: random.randint(0, len(data))] if random.random() < 0.5 else data)
    for _ in range(min(random.randint(0, 5), len(changed))):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def _ask(address: Address, request: bytes, whole: bool) -> bytes:
    """Send a request and return everything that is answered."""
    with address.connect() as opened:
        try:
            opened.sendall(request)
            if not whole:
                opened.settimeout(0.02)
                try:
                    if start := opened.recv(2**16):
                        opened.settimeout(5)
                        return start + rest_of(opened)
                except TimeoutError:
                    opened.settimeout(5)
                opened.shutdown(1)
        except OSError:  # refused before it was sent
            pass
        return rest_of(opened)


def _check(answer: bytes, ours: bool, whole: bool, folder: Path) -> str:
    """Return the code of an answer, which has to be in order."""
    if not answer:
        assert not whole, "no answer"
        return "closed"
    if answer.startswith(b"HTTP/1.1 100 "):
        answer = answer.partition(b"\r\n\r\n")[2]
    head, _, rest = answer.partition(b"\r\n\r\n")
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", head)
    assert found, head[:100]
    code = int(found[1])
    assert code in CODES, code
    assert ours or code >= 400, code
    fields = [line.lower() for line in head.split(b"\r\n")[1:]]
    for name, value in HEADERS.items():
        assert fields.count(f"{name}: {value}".lower().encode()) == 1, (code, name)
    assert any(field.startswith(b"cache-control: ") for field in fields)
    for text in (b"Traceback", SECRET.encode(), str(folder).encode(), b"root:"):
        assert text not in rest, text
    return str(code)


def requests(count: int, seed: int, folder: Path) -> Counter[str]:
    """Send requests to a viewer in a new folder; return how they ended. A wrong end raises an AssertionError."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "secret").write_text(SECRET)
    result, ends = _result(folder / "result"), Counter[str]()
    with closing(Jobs(folder / "jobs", start=False)) as jobs, serving(LIMITS, jobs, {"result": result}) as address:
        for n in range(count):
            random = Random(f"{seed} {n}")
            request, ours, whole = hostile(random, _names(jobs, result), address.port)
            try:
                ends[_check(_ask(address, request, whole), ours, whole, folder)] += 1
            except (AssertionError, OSError) as error:
                raise AssertionError(f"request {n} of seed {seed}, {request[:300]!r}: {error!r}") from error
            if n % 50 == 0:
                assert address.serves(), f"not served after request {n} of seed {seed}"
        assert address.serves()
    left = {path.name for path in folder.iterdir()} - {"jobs", "result", "secret"}
    assert not left, left
    assert not [*folder.rglob("*.part")]
    return ends


def _names(jobs: Jobs, result: Path) -> list[str]:
    """Return jobs in several states, and replace those that were deleted."""
    present = jobs.all()
    for job in present[: max(0, len(present) - MAX_JOBS)]:
        jobs.delete(job.id)
    if not any(job.state == UPLOADING for job in present):
        jobs.create(3, "dicom")
    if not any(job.state == "done" for job in present):
        add_finished(jobs, result)
    return [job.id for job in jobs.all()[-4:]]


def _result(folder: Path) -> Path:
    """Write a result of two slices."""
    folder.mkdir()
    for name in ("reduced", "difference"):
        np.save(folder / f"{name}.npy", np.zeros((2, 13, 18), np.float32))
    slices = [{"number": n, "status": "unchanged"} for n in (1, 2)]
    (folder / "report.json").write_text(json.dumps({"slices": slices, "method": "LI", "spacing_mm": [1.0, 1.0]}))
    return folder
