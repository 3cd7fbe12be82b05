"""Start the page: on this computer alone, under an address that nobody can guess."""

from __future__ import annotations

import atexit
import os
import secrets
import socket
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acdnet.errors import MissingExtra, ResourceError

HOST = "127.0.0.1"
TOKEN_BYTES = 24


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
    listening = _listen(port)
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(TOKEN_BYTES)
    try:
        jobs = Jobs(uploads) if uploads is not None else None
        app = make_app(token, results, jobs, model, port)
    except BaseException:
        listening.close()
        raise
    # no log of requests: their addresses hold the token
    config = uvicorn.Config(app, log_level="critical", access_log=False, lifespan="off", timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    address = f"http://{HOST}:{port}/{token}/"
    say(f"open {address}")
    say("only this computer can; stop with Ctrl-C. Research use only. Not a medical device.")
    if browser:
        threading.Thread(target=_open_when_ready, args=(server, address), daemon=True).start()
    try:
        server.run([listening])
    finally:
        if jobs is not None:
            jobs.close()


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


def _door(address: str) -> Path:
    """Write a page that leads to the address, for this user alone: everybody can read the command line of a browser."""
    handle, name = tempfile.mkstemp(".html", "acdnet-")
    atexit.register(Path(name).unlink, missing_ok=True)
    with os.fdopen(handle, "w") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={address}"><title>ACDNet</title>')
    return Path(name)


def _open_when_ready(server: Any, address: str) -> None:
    for _ in range(100):
        if server.started:
            webbrowser.open(_door(address).as_uri())
            return
        time.sleep(0.05)
