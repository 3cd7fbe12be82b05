"""The HTTP application of the viewer. It answers only this computer and only requests with the secret token."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import FileResponse, JSONResponse

from acdnet import __version__
from acdnet.errors import AcdnetError, InputRefused, ResourceError
from acdnet.io.scan import NOTICE
from acdnet.viewer.jobs import Jobs
from acdnet.viewer.routes import job_routes, result_routes
from acdnet.viewer.sessions import Sessions
from acdnet.viewer.stages import Busy

__all__ = ["NOTICE", "make_app"]
STATIC = Path(__file__).parent / "static"
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".txt": "text/plain"}
HTTP_PORT = 80
"""The port that browsers leave out of the Host header."""
NO_TELEMETRY: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
"""Switches off the telemetry of FastAPI versions that have it, also where the environment switches it on."""
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
    "worker-src 'self' blob:; connect-src 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def make_app(
    token: str,
    results: dict[str, Path],
    jobs: Jobs | None = None,
    model: str = "",
    port: int = 0,
    visited: threading.Event | None = None,
) -> FastAPI:
    """Build the application for some results and, given `jobs`, for uploads; the first visit sets `visited`."""
    app = FastAPI(
        title="acdnet", version=__version__, docs_url=None, redoc_url=None, openapi_url=None, telemetry=NO_TELEMETRY
    )
    sessions = Sessions(results, jobs, model)
    for name in results:
        sessions.open(name)  # refuse a damaged result now, not in the page
    _add_access_check(app, token, port)

    @app.exception_handler(AcdnetError)
    async def refused(_: Request, error: AcdnetError) -> JSONResponse:
        body = {"error": sessions.without_paths(str(error))}
        if isinstance(error, Busy):
            return JSONResponse(body, 503, {"Retry-After": "1"})
        return JSONResponse(body, 507 if isinstance(error, ResourceError) else 400)

    about = {"version": __version__, "notice": NOTICE, "results": list(results), "uploads": jobs is not None}
    prefix = f"/{token}"
    app.include_router(_page_routes(about, visited), prefix=prefix)
    app.include_router(result_routes(sessions), prefix=prefix)
    if jobs is not None:
        app.include_router(job_routes(jobs, sessions), prefix=prefix)
    return app


def _add_access_check(app: FastAPI, token: str, port: int) -> None:
    """Refuse requests with another host name, from another origin, or without the token."""
    names = ("127.0.0.1", "localhost")
    hosts = {f"{name}:{port}" for name in names} | ({*names} if port == HTTP_PORT else set())

    @app.middleware("http")
    async def check_access(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        origin = request.headers.get("origin")
        if port and request.headers.get("host", "") not in hosts:
            return Response("this page is only available on this computer", 403)
        if port and origin is not None and origin.removeprefix("http://") not in hosts:
            return Response("requests from other sites are refused", 403)
        if not secrets.compare_digest(_first_part(request.url.path).encode(), token.encode()):
            return Response("open the complete address that acdnet printed; it contains a token", 403)
        response = await call_next(request)
        response.headers.update(HEADERS)
        response.headers.setdefault("Cache-Control", "no-store")
        return response


def _first_part(path: str) -> str:
    return path.partition("/")[2].partition("/")[0]


def _page_routes(about: dict[str, Any], visited: threading.Event | None) -> APIRouter:
    """Return the routes of the page and its files."""
    router = APIRouter()

    @router.get("/")
    async def page() -> FileResponse:
        if visited is not None:
            visited.set()
        return FileResponse(STATIC / "index.html", media_type="text/html")

    @router.get("/static/{name}")
    async def static(name: str) -> FileResponse:
        if name not in {path.name for path in STATIC.iterdir()}:
            raise InputRefused(f"no file {name!r:.40}")
        headers = {"Cache-Control": "private, max-age=86400"} if name == "cornerstone.js" else {}
        return FileResponse(STATIC / name, media_type=TYPES[Path(name).suffix], headers=headers)

    @router.get("/api/start")
    async def start() -> dict[str, Any]:
        return about

    return router
