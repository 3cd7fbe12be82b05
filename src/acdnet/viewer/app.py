"""The server of the page. It answers this computer alone, and nobody who does not know the token in its address."""

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
from acdnet.scans.scan import NOTICE
from acdnet.viewer.answers import job_answers, result_answers
from acdnet.viewer.inside import Busy
from acdnet.viewer.jobs import Jobs
from acdnet.viewer.shown import Shown

__all__ = ["NOTICE", "make_app"]
STATIC = Path(__file__).parent / "static"
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".txt": "text/plain"}
HTTP_PORT = 80
"""The port that browsers do not name."""
UNTRACED: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
"""Versions of FastAPI that can send what they are asked elsewhere do not, whatever the environment says."""
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
    """Build the server for some results, and for uploads if there are jobs; `visited` is set by the first visit."""
    app = FastAPI(
        title="acdnet", version=__version__, docs_url=None, redoc_url=None, openapi_url=None, telemetry=UNTRACED
    )
    shown = Shown(results, jobs, model)
    for name in results:
        shown.open(name)  # what cannot be shown is refused now, not in the page
    _keep_out_others(app, token, port)

    @app.exception_handler(AcdnetError)
    async def refused(_: Request, error: AcdnetError) -> JSONResponse:
        told = {"error": shown.without_paths(str(error))}
        if isinstance(error, Busy):
            return JSONResponse(told, 503, {"Retry-After": "1"})
        return JSONResponse(told, 507 if isinstance(error, ResourceError) else 400)

    about = {"version": __version__, "notice": NOTICE, "results": list(results), "uploads": jobs is not None}
    under = f"/{token}"
    app.include_router(_pages(about, visited), prefix=under)
    app.include_router(result_answers(shown), prefix=under)
    if jobs is not None:
        app.include_router(job_answers(jobs, shown), prefix=under)
    return app


def _keep_out_others(app: FastAPI, token: str, port: int) -> None:
    """Let nobody in by another name, from another page, or without the token."""
    names = ("127.0.0.1", "localhost")
    hosts = {f"{name}:{port}" for name in names} | ({*names} if port == HTTP_PORT else set())

    @app.middleware("http")
    async def guard(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        origin = request.headers.get("origin")
        if port and request.headers.get("host", "") not in hosts:
            return Response("this page is for this computer alone", 403)
        if port and origin is not None and origin.removeprefix("http://") not in hosts:
            return Response("requests from other pages are not answered", 403)
        if not secrets.compare_digest(_first_part(request.url.path).encode(), token.encode()):
            return Response("use the whole address that was printed: it holds a token", 403)
        response = await call_next(request)
        response.headers.update(HEADERS)
        response.headers.setdefault("Cache-Control", "no-store")
        return response


def _first_part(path: str) -> str:
    return path.partition("/")[2].partition("/")[0]


def _pages(about: dict[str, Any], visited: threading.Event | None) -> APIRouter:
    """Hand out the page and what belongs to it."""
    router = APIRouter()

    @router.get("/")
    async def page() -> FileResponse:
        if visited is not None:
            visited.set()
        return FileResponse(STATIC / "index.html", media_type="text/html")

    @router.get("/static/{name}")
    async def static(name: str) -> FileResponse:
        if name not in {path.name for path in STATIC.iterdir()}:
            raise InputRefused("no such file")
        kept = {"Cache-Control": "private, max-age=86400"} if name == "cornerstone.js" else {}
        return FileResponse(STATIC / name, media_type=TYPES[Path(name).suffix], headers=kept)

    @router.get("/api/start")
    async def start() -> dict[str, Any]:
        return about

    return router
