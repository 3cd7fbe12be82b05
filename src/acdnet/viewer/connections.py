"""Limits for connections: their number, and how long each may take, so that no client keeps others from being served.

uvicorn limits none of this. Its server asks each connection ten times a second whether it takes too long.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from typing import ClassVar

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from acdnet.viewer.headers import ALL

ACCEPTED_AT_ONCE = 8
"""Connections accepted before the limit is applied to them."""
BACKLOG = 128
"""Connections that wait to be accepted."""
RESERVED_FILES = 96
"""Open files of the program apart from connections and the file that each of them reads or writes."""
MAX_CONNECTIONS = 256
GRACE_SECONDS = 2


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits for the connections of a server."""

    connections: int
    header_seconds: float = 10.0
    """Time for the header of a request, for what is left of a body after the answer, and for closing."""
    body_seconds: float = 30.0
    body_bytes: int = 1024
    """Fewest bytes of a body in `body_seconds` while the application waits for them."""
    send_seconds: float = 120.0
    """How long a client may accept no part of an answer."""


def connection_limits() -> ConnectionLimits:
    """Return limits that suit the number of files the process may open."""
    try:
        import resource
    except ImportError:  # Windows
        return ConnectionLimits(MAX_CONNECTIONS)
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return ConnectionLimits(MAX_CONNECTIONS)
    return ConnectionLimits(max(8, min(MAX_CONNECTIONS, (files - RESERVED_FILES) // 2)))


class Phase(Enum):
    """What a connection is waiting for."""

    HEADER = auto()
    """The header of a request, or the rest of a body that was answered early."""
    BODY = auto()
    WORK = auto()
    """The application."""
    CLIENT = auto()
    """The client has to accept the answer."""
    CLOSING = auto()


IDLE = (Phase.HEADER, Phase.CLOSING)
"""A connection in these phases is closed when there are too many."""


class LimitedConnection(H11Protocol):
    """A connection that is closed when it takes too long."""

    limits: ClassVar[ConnectionLimits]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.aborted, self.refused, self.received, self.unsent = False, False, 0, 0
        self.phase_before, self.since = Phase.HEADER, time.monotonic()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        if self.refused:
            return
        self.received += len(data)
        super().data_received(data)

    def phase(self) -> Phase:
        """Return what the connection is waiting for."""
        if self.refused or self.transport.is_closing():
            return Phase.CLOSING
        if self.cycle is None or self.cycle.response_complete:
            return Phase.HEADER
        if self.flow.write_paused:
            return Phase.CLIENT
        return Phase.BODY if self.cycle.more_body and not self.flow.read_paused else Phase.WORK

    def check_time(self) -> None:
        """Close the connection if it takes too long."""
        phase, now, unsent = self.phase(), time.monotonic(), self.transport.get_write_buffer_size()
        progress = self.received >= self.limits.body_bytes if phase is Phase.BODY else unsent < self.unsent
        if phase is not self.phase_before or progress:
            self._begin(phase, now)
        self.unsent = unsent
        if now - self.since < self._seconds(phase):
            return
        if phase is Phase.HEADER and self.conn.our_state is h11.IDLE and self.received:
            self.refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.abort()

    def _begin(self, phase: Phase, now: float) -> None:
        self.phase_before, self.since = phase, now
        if phase is Phase.BODY:
            self.received = 0

    def _seconds(self, phase: Phase) -> float:
        limits = self.limits
        seconds = {Phase.BODY: limits.body_seconds, Phase.CLIENT: limits.send_seconds, Phase.WORK: float("inf")}
        return seconds.get(phase, limits.header_seconds)

    def _make_room(self) -> None:
        """Close the connection that has been idle longest when there are too many; refuse this one if all are busy."""
        others = [one for one in self._all() if one is not self and not one.is_gone()]
        idle = [one for one in others if one.phase() in IDLE]
        most = self.limits.connections
        if len(others) - len(idle) >= most:
            self.refuse(HTTPStatus.SERVICE_UNAVAILABLE)
            most += ACCEPTED_AT_ONCE  # refused ones that were not read yet
        if idle and len(others) >= most:
            min(idle, key=lambda one: one.since).abort()

    def is_gone(self) -> bool:
        """Return whether it is closed in a moment."""
        return self.aborted or (self.transport.is_closing() and not self.transport.get_write_buffer_size())

    def _all(self) -> Iterable[LimitedConnection]:
        return (one for one in self.connections if isinstance(one, LimitedConnection))

    def abort(self) -> None:
        """Close the connection without sending what is left of an answer."""
        self.aborted = True
        self.transport.abort()

    def refuse(self, status: HTTPStatus) -> None:
        """Answer without asking the application; the client closes the connection, or the deadline does."""
        text = status.phrase.encode()
        headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(text)).encode()), *ALL]
        answer = h11.Response(
            status_code=status, headers=[*headers, (b"connection", b"close")], reason=status.phrase.encode()
        )
        for event in (answer, h11.Data(data=text), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.refused = True
        try:
            self.transport.write_eof()  # closing it now would drop the answer if not all of the request was read
        except (OSError, NotImplementedError):  # the client is gone, or the transport cannot
            self.transport.close()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Answer what is no HTTP request; uvicorn calls this."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.refuse(HTTPStatus.BAD_REQUEST)
        else:  # an answer has begun, or was given
            self.transport.close()


class LimitedServer(uvicorn.Server):
    """A server that checks its connections."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or []:
            listening.listen(BACKLOG)  # asyncio takes its argument also for how many it accepts at once

    async def on_tick(self, counter: int) -> bool:
        for connection in list(self.server_state.connections):
            if isinstance(connection, LimitedConnection):
                connection.check_time()
        return await super().on_tick(counter)


def make_server(app: ASGIApp, limits: ConnectionLimits | None = None) -> LimitedServer:
    """Return a server of an application. It logs nothing, because the addresses of requests contain the token."""
    protocol = type("Connection", (LimitedConnection,), {"limits": limits or connection_limits()})
    logging.getLogger("asyncio").setLevel(logging.CRITICAL + 1)
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_level=logging.CRITICAL + 1,
        access_log=False,
        server_header=False,
        backlog=ACCEPTED_AT_ONCE,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return LimitedServer(config)
