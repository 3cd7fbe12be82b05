"""Start the page: on this computer alone, under an address that nobody can guess."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from acdnet.errors import MissingExtra, ResourceError
from acdnet.scans.scan import NOTICE

HOST = "127.0.0.1"
TOKEN_BYTES = 24
SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def run_server(
    results: dict[str, Path],
    uploads: Path | None,
    model: str,
    port: int,
    browser: bool,
    say: Callable[[str], None],
) -> None:
    """Serve until Ctrl-C."""
    try:
        import uvicorn

        from acdnet.viewer.app import make_app
        from acdnet.viewer.jobs import Jobs
    except ImportError as error:
        raise MissingExtra("the viewer", "fastapi uvicorn") from error
    with ExitStack() as ends:
        ends.enter_context(_ended_by_signals())
        listening = ends.enter_context(_listen(port))
        port = listening.getsockname()[1]
        token = secrets.token_urlsafe(TOKEN_BYTES)
        jobs = Jobs(uploads) if uploads is not None else None
        if jobs is not None:
            ends.callback(jobs.close)
        visited = threading.Event()
        app = make_app(token, results, jobs, model, port, visited)
        # no log of requests: their addresses hold the token
        config = uvicorn.Config(
            app, log_level="critical", access_log=False, lifespan="off", timeout_graceful_shutdown=2
        )
        server = uvicorn.Server(config)
        address = f"http://{HOST}:{port}/{token}/"
        say(f"open {address}")
        say(f"only this computer can; stop with Ctrl-C. {NOTICE}")
        if browser:
            door = ends.enter_context(_door(address))
            threading.Thread(target=_open_when_ready, args=(server, door, visited), daemon=True).start()
        server.run([listening])


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen(128)  # whoever comes before the server is ready waits
    except OSError as error:
        listening.close()
        raise ResourceError(
            f"port {port} cannot be used ({error.strerror}); leave --port out to get a free one"
        ) from error
    return listening


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let a signal that ends the program end it in order: without this, nothing would be cleared up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _door(address: str) -> Iterator[Path]:
    """Write a page that leads to the address, for this user alone: everybody can read the command line of a browser."""
    handle, name = tempfile.mkstemp(".html", "acdnet-")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={address}"><title>ACDNet</title>')
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _open_when_ready(server: Any, door: Path, visited: threading.Event) -> None:
    """Open the page in the browser; the door goes when it has been used."""
    for _ in range(100):
        if server.started:
            webbrowser.open(door.as_uri())
            visited.wait()
            door.unlink(missing_ok=True)
            return
        time.sleep(0.05)
