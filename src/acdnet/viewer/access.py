"""Access to the application: only from this computer, only from its own page, and only with the secret token."""

from __future__ import annotations

import secrets

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

NAMES = ("127.0.0.1", "localhost")
HTTP_PORT = 80
"""The port that browsers leave out of the Host header."""
CLOSE = {"Connection": "close"}
"""Strangers keep no connection."""


class AccessCheck:
    """Refuse requests with another host name, from another origin, or without the token."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.token, self.port = app, token.encode(), port
        self.hosts = {f"{name}:{port}" for name in NAMES} | ({*NAMES} if port == HTTP_PORT else set())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan" and (reason := self._refusal(scope)):
            await PlainTextResponse(reason, 403, CLOSE)(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _refusal(self, scope: Scope) -> str:
        """Return why a request is refused; empty if it is not."""
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if self.port and headers.get("host", "") not in self.hosts:
            return "this page is only available on this computer"
        if self.port and origin is not None and origin.removeprefix("http://") not in self.hosts:
            return "requests from other sites are refused"
        if not secrets.compare_digest(_first_part(scope["path"]).encode(), self.token):
            return "open the complete address that acdnet printed; it contains a token"
        return ""


def _first_part(path: str) -> str:
    return path.partition("/")[2].partition("/")[0]
