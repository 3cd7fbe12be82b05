"""Who gets in, and what is said: this computer alone, with the token, and neither token nor patient in any log."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fastapi.testclient import TestClient

from acdnet.errors import InputRefused
from acdnet.viewer import worker as work
from acdnet.viewer.app import make_app
from tests.reduction.make import series
from tests.viewer.server import Server, Uploads, files, until

NAME = "Secret"
"""The patient of the scans that tests make."""
TOKEN = "a-token-that-nobody-knows"
HOW = {"kind": "dicom", "series": 0, "any_plane": False, "lossy": False}


def test_f54_another_address_of_this_computer_is_not_listened_on(tmp_path: Path) -> None:
    server = Server(tmp_path / "jobs")
    port = urlsplit(server.address).port
    try:
        with socket.create_connection(("127.0.0.1", port), 5):
            pass
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), 5)
    finally:
        server.kill()


def test_f55_neither_token_nor_patient_is_logged(tmp_path: Path) -> None:
    scan = files(series(tmp_path / "scan", (True,), RescaleType=NAME))  # an error would tell it
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
    said = server.said.read_text()
    assert said.count(server.token) == 1  # the address that is printed at the start
    assert said.splitlines()[0] == f"Viewer: {server.address}"
    kept = [path for path in (tmp_path / "jobs").rglob("*") if path.is_file()]
    assert {path.name for path in kept} == {".numbers", "job.json", "progress.json"}
    for text in (said, *(path.read_text() for path in kept)):
        assert NAME not in text
    assert not any(server.token in path.read_text() or server.token in str(path) for path in kept)


def test_f55_an_error_that_nobody_foresaw_is_told_without_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError(f"PatientName is {NAME}")

    monkeypatch.setattr(work, "_reduce", fail)
    assert work.reduce_job(tmp_path, HOW) == 1
    told = (tmp_path / "progress.json").read_text()
    assert NAME not in told
    assert "RuntimeError" in told


def test_browsers_do_not_name_the_usual_port() -> None:
    for port, host, code in ((80, "127.0.0.1", 200), (80, "localhost:80", 200), (8123, "127.0.0.1", 403)):
        with TestClient(make_app(TOKEN, {}, port=port), base_url=f"http://127.0.0.1:{port}") as client:
            assert client.get(f"/{TOKEN}/api/start", headers={"host": host}).status_code == code
            origin = {"host": f"127.0.0.1:{port}", "origin": f"http://{host}"}
            assert client.get(f"/{TOKEN}/api/start", headers=origin).status_code == code


@pytest.mark.parametrize("used", [True, False])
def test_the_page_with_the_address_does_not_stay(used: bool, tmp_path: Path) -> None:
    browser, seen, doors = tmp_path / "browser.py", tmp_path / "seen", tmp_path / "doors"
    browser.write_text("import os, sys\nopen(os.environ['SEEN'], 'w').write(sys.argv[1])\n")
    doors.mkdir()
    environment = {"BROWSER": f"{sys.executable} {browser} %s", "SEEN": str(seen), "TMPDIR": str(doors)}
    server = Server(tmp_path / "jobs", "--browser", **environment)
    until(lambda: seen.is_file() and seen.read_text(), 20)
    (door,) = doors.glob("acdnet-*.html")
    assert seen.read_text() == door.as_uri()
    assert (door.stat().st_mode & 0o777) == 0o600
    assert server.address in door.read_text()
    if used:
        urllib.request.urlopen(server.address).read()
        until(lambda: not door.exists(), 5)
    assert server.end(signal.SIGTERM) == 128 + signal.SIGTERM
    assert not door.exists()
    assert not (tmp_path / "jobs" / ".lock").exists()


def test_choices_are_told_by_the_kind_of_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise InputRefused(f"{tmp_path}{os.sep}upload{os.sep}00001: holds; --accept-lossy takes it")

    monkeypatch.setattr(work, "_reduce", fail)
    assert work.reduce_job(tmp_path, HOW) == InputRefused.exit_code
    told = json.loads((tmp_path / "progress.json").read_text())
    assert told["needs"] == ""  # words decide nothing
    assert told["message"].startswith("file 00001: ")
