"""A server in a thread of this process, and requests to it, byte by byte."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acdnet.viewer.app import make_app
from acdnet.viewer.connections import ConnectionLimits, LimitedServer, make_server
from acdnet.viewer.jobs import Jobs
from acdnet.viewer.serve import listen
from tests.viewer.server import TOKEN, until


class Address:
    """Where a server listens."""

    def __init__(self, port: int, server: LimitedServer | None = None) -> None:
        self.port, self.server = port, server

    def connections(self) -> int:
        """Return how many connections the server has."""
        assert self.server is not None
        return len(self.server.server_state.connections)

    def connect(self, sent: bytes = b"") -> socket.socket:
        opened = socket.create_connection(("127.0.0.1", self.port), 5)
        opened.sendall(sent)
        return opened

    def head(self, request: str, *headers: str) -> bytes:
        """Return the header of a request with the token."""
        method, path = request.split()
        lines = (f"{method} /{TOKEN}/{path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", *headers)
        return "".join(f"{line}\r\n" for line in (*lines, "")).encode()

    def serves(self, token: str = TOKEN) -> bool:
        with self.connect(self.head("GET api/start").replace(TOKEN.encode(), token.encode())) as opened:
            return opened.recv(12) == b"HTTP/1.1 200"


def rest_of(opened: socket.socket) -> bytes:
    """Return what a server sends until it closes the connection."""
    data = b""
    try:
        while part := opened.recv(2**16):
            data += part
    except ConnectionResetError:
        pass
    return data


@contextmanager
def serving(
    limits: ConnectionLimits, jobs: Jobs | None = None, results: dict[str, Path] | None = None
) -> Iterator[Address]:
    """Serve jobs and results until the end of the block."""
    with listen(0) as listening:
        port = listening.getsockname()[1]
        server = make_server(make_app(TOKEN, results or {}, jobs, port=port), limits)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        until(lambda: server.started)
        try:
            yield Address(port, server)
        finally:
            server.should_exit = True
            thread.join()
