"""The HTTP application of the viewer. It answers only this computer and only requests with the secret token."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import FileResponse, JSONResponse
from starlette.types import ASGIApp

from acdnet import __version__
from acdnet.errors import AcdnetError, InputRefused, ResourceError
from acdnet.io.scan import NOTICE
from acdnet.viewer.access import AccessCheck
from acdnet.viewer.headers import SafeHeaders
from acdnet.viewer.jobs import Jobs
from acdnet.viewer.routes import job_routes, result_routes
from acdnet.viewer.sessions import Sessions
from acdnet.viewer.stages import Busy

__all__ = ["NOTICE", "make_app"]
STATIC = Path(__file__).parent / "static"
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".txt": "text/plain"}
NO_TELEMETRY: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
"""Switches off the telemetry of FastAPI versions that have it, also where the environment switches it on."""


def make_app(
    token: str,
    results: dict[str, Path],
    jobs: Jobs | None = None,
    model: str = "",
    port: int = 0,
    visited: threading.Event | None = None,
) -> ASGIApp:
    """Build the application for some results and, given `jobs`, for uploads; the first visit sets `visited`."""
    app = FastAPI(
        title="acdnet", version=__version__, docs_url=None, redoc_url=None, openapi_url=None, telemetry=NO_TELEMETRY
    )
    sessions = Sessions(results, jobs, model)
    for name in results:
        sessions.open(name)  # refuse a damaged result now, not in the page

    @app.exception_handler(AcdnetError)
    async def refused(_: Request, error: AcdnetError) -> JSONResponse:
        body = {"error": sessions.without_paths(str(error))}
        if isinstance(error, Busy):
            return JSONResponse(body, 503, {"Retry-After": "1"})
        return JSONResponse(body, 507 if isinstance(error, ResourceError) else 400)

    @app.exception_handler(MemoryError)
    @app.exception_handler(OSError)
    async def failed(_: Request, error: OSError | MemoryError) -> JSONResponse:
        reason = "out of memory" if isinstance(error, MemoryError) else error.strerror or type(error).__name__
        return JSONResponse({"error": f"the server cannot do this now ({reason})"}, 507)

    about = {"version": __version__, "notice": NOTICE, "results": list(results), "uploads": jobs is not None}
    prefix = f"/{token}"
    app.include_router(_page_routes(about, visited), prefix=prefix)
    app.include_router(result_routes(sessions), prefix=prefix)
    if jobs is not None:
        app.include_router(job_routes(jobs, sessions), prefix=prefix)
    return SafeHeaders(AccessCheck(app, token, port))


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
