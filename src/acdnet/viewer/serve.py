"""Start the viewer on this computer under a secret address."""

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
from acdnet.io.scan import NOTICE

HOST = "127.0.0.1"
TOKEN_BYTES = 24
SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def run_server(
    results: dict[str, Path],
    uploads: Path | None,
    model: str,
    port: int,
    browser: bool,
    echo: Callable[[str], None],
) -> None:
    """Serve the page until Ctrl-C."""
    with ExitStack() as cleanup:
        interrupts = cleanup.enter_context(_exit_on_signals())
        try:
            from acdnet.viewer.app import make_app
            from acdnet.viewer.connections import make_server
            from acdnet.viewer.jobs import Jobs
        except ImportError as error:
            raise MissingExtra("the viewer", "fastapi uvicorn") from error
        listening = cleanup.enter_context(listen(port))
        port = listening.getsockname()[1]
        token = secrets.token_urlsafe(TOKEN_BYTES)
        jobs = Jobs(uploads) if uploads is not None else None
        if jobs is not None:
            cleanup.callback(jobs.close)
        visited = threading.Event()
        server = make_server(make_app(token, results, jobs, model, port, visited))
        address = f"http://{HOST}:{port}/{token}/"
        echo(f"Viewer: {address}")
        echo(f"Available on this computer only. Press Ctrl-C to stop. {NOTICE}")
        if browser:
            redirect = cleanup.enter_context(_redirect_page(address))
            threading.Thread(target=_open_when_ready, args=(server, redirect, visited), daemon=True).start()
        if interrupts:
            raise KeyboardInterrupt
        server.run([listening])


def listen(port: int) -> socket.socket:
    """Return a socket on a port of this computer; 0 chooses a free one."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen(128)  # early requests wait until the server is ready
    except OSError as error:
        listening.close()
        raise ResourceError(
            f"port {port} is not available ({error.strerror}); omit --port to use a free one"
        ) from error
    return listening


@contextmanager
def _exit_on_signals() -> Iterator[list[int]]:
    """Turn termination signals into SystemExit, so that cleanup runs.

    The list that is returned contains the interrupts: Python loses a KeyboardInterrupt in some places of an import.
    """
    interrupts: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return

    def exit_(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    def interrupt(number: int, _: object) -> None:
        interrupts.append(number)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, exit_) for number in SIGNALS}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        before[signal.SIGINT] = signal.signal(signal.SIGINT, interrupt)
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _redirect_page(address: str) -> Iterator[Path]:
    """Write a page that redirects to the address, readable by this user only.

    Other users can read the command line of the browser, which must not contain the token.
    """
    handle, name = tempfile.mkstemp(".html", "acdnet-")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={address}"><title>ACDNet</title>')
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _open_when_ready(server: Any, redirect: Path, visited: threading.Event) -> None:
    """Open the page in the browser; remove the redirect page after the first visit."""
    for _ in range(100):
        if server.started:
            webbrowser.open(redirect.as_uri())
            visited.wait()
            redirect.unlink(missing_ok=True)
            return
        time.sleep(0.05)
