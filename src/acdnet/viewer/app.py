"""The server of the page. It answers this computer alone, and nobody who does not know the token in its address."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool

from acdnet import __version__
from acdnet.errors import AcdnetError, InputRefused, ResourceError
from acdnet.viewer.inside import Busy, Desk, Inside
from acdnet.viewer.jobs import Jobs
from acdnet.viewer.layer import Plane, Result
from acdnet.viewer.result import open_result
from acdnet.viewer.states import DONE
from acdnet.viewer.zipped import zip_stream

STATIC = Path(__file__).parent / "static"
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".txt": "text/plain"}
NOTICE = "Research use only. Not a medical device. Not for diagnosis. Always look at the original images too."
LOWEST, HIGHEST = -32768, 32767
OPEN_RESULTS = 4
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
    "worker-src 'self' blob:; connect-src 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Shown:
    """The results that the page can open: those named when it was started, and those of finished jobs."""

    def __init__(self, results: dict[str, Path], jobs: Jobs | None, model: str = "") -> None:
        self.named, self.jobs, self.model = results, jobs, model
        self.opened: dict[str, tuple[Result, Inside]] = {}
        self.lock, self.desk = Lock(), Desk()

    def open(self, name: str) -> tuple[Result, Inside]:
        """Open a result by its name."""
        with self.lock:
            if name not in self.opened:
                folder = self.named.get(name) or (self.jobs.result(name) if self.jobs else None)
                if folder is None:
                    raise InputRefused("no such result")
                while len(self.opened) >= OPEN_RESULTS:
                    self._close(next(iter(self.opened)))
                result = open_result(folder)
                self.opened[name] = result, Inside(result, self.model, self.desk)
            self.opened[name] = self.opened.pop(name)  # the one that was not looked at for longest is closed first
            return self.opened[name]

    def forget(self, name: str) -> None:
        """Close a result."""
        with self.lock:
            self._close(name)

    def _close(self, name: str) -> None:
        if name in self.opened:
            self.opened.pop(name)[1].forget()


def make_app(token: str, results: dict[str, Path], jobs: Jobs | None = None, model: str = "", port: int = 0) -> FastAPI:
    """Build the server for some results, and for uploads if there are jobs."""
    app = FastAPI(title="acdnet", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    shown = Shown(results, jobs, model)
    for name in results:
        shown.open(name)  # what cannot be shown is refused now, not in the page
    hosts = {f"{host}:{port}" for host in ("127.0.0.1", "localhost")} if port else None
    base = "/{key}"

    @app.middleware("http")
    async def guard(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        """Let nobody in by another name, from another page, or without the token."""
        key = request.url.path.split("/")[1]
        origin = request.headers.get("origin")
        host = request.headers.get("host", "")
        if hosts is not None and host not in hosts:
            return Response("this page is for this computer alone", 403)
        if origin is not None and hosts is not None and origin.removeprefix("http://") not in hosts:
            return Response("requests from other pages are not answered", 403)
        if not secrets.compare_digest(key.encode(), token.encode()):
            return Response("use the whole address that was printed: it holds a token", 403)
        response = await call_next(request)
        response.headers.update(HEADERS)
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    @app.exception_handler(AcdnetError)
    async def refused(_: Request, error: AcdnetError) -> JSONResponse:
        if isinstance(error, Busy):
            return JSONResponse({"error": str(error)}, 503, {"Retry-After": "1"})
        return JSONResponse({"error": str(error)}, 507 if isinstance(error, ResourceError) else 400)

    @app.get(base + "/")
    async def page(key: str) -> FileResponse:  # noqa: ARG001
        return FileResponse(STATIC / "index.html", media_type="text/html")

    @app.get(base + "/static/{name}")
    async def static(key: str, name: str) -> FileResponse:  # noqa: ARG001
        if name not in {path.name for path in STATIC.iterdir()}:
            raise InputRefused("no such file")
        kept = {"Cache-Control": "private, max-age=86400"} if name == "cornerstone.js" else {}
        return FileResponse(STATIC / name, media_type=TYPES[Path(name).suffix], headers=kept)

    @app.get(base + "/api/start")
    async def start(key: str) -> dict[str, Any]:  # noqa: ARG001
        return {"version": __version__, "notice": NOTICE, "results": list(results), "uploads": jobs is not None}

    @app.get(base + "/api/results/{name}")
    def describe(key: str, name: str) -> dict[str, Any]:  # noqa: ARG001
        result, inside = shown.open(name)
        return result.describe() | {"no_stages": inside.why_not()}

    @app.get(base + "/api/results/{name}/slices/{number}/{layer}")
    def image(key: str, name: str, number: int, layer: str) -> Response:  # noqa: ARG001
        result, _ = shown.open(name)
        _check_number(result, number)
        if layer == "metal":
            metal = result.metal(number)
            return _raw(metal, np.uint8) if metal is not None else Response(status_code=204)
        if layer == "doubt":
            doubt = result.doubt(number)
            return _raw(doubt, np.uint16) if doubt is not None else Response(status_code=204)
        if layer not in {known.name for known in result.layers}:
            raise InputRefused(f"no layer {layer!r:.40}")
        inverts = not any(known.is_difference for known in result.layers if known.name == layer)
        return _raw(result.image(number, layer), np.int16, _plane_headers(result.plane(number), inverts))

    @app.get(base + "/api/results/{name}/slices/{number}/inside/about")
    def inside_about(key: str, name: str, number: int) -> dict[str, Any]:  # noqa: ARG001
        result, inside = shown.open(name)
        _check_number(result, number)
        return inside.describe(number)

    @app.get(base + "/api/results/{name}/slices/{number}/inside/{kind}/{t}/{n}")
    def inside_image(key: str, name: str, number: int, kind: str, t: int, n: int) -> Response:  # noqa: ARG001
        result, inside = shown.open(name)
        _check_number(result, number)
        headers = _plane_headers(result.plane(number), kind == "images")
        return _raw(inside.image(number, kind, t, n), np.int16, headers)

    if jobs is not None:
        _add_jobs(app, base, jobs, shown)
    return app


def _add_jobs(app: FastAPI, base: str, jobs: Jobs, shown: Shown) -> None:
    @app.get(base + "/api/jobs")
    def listed(key: str) -> list[dict[str, Any]]:  # noqa: ARG001
        return [asdict(job) | {"progress": jobs.progress(job.id)} for job in jobs.all()]

    @app.post(base + "/api/jobs")
    async def create(key: str, request: Request) -> dict[str, Any]:  # noqa: ARG001
        try:
            wanted = await request.json()
            files, kind = int(wanted["files"]), str(wanted["kind"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputRefused("a job begins with the number of its files and their kind") from error
        return asdict(jobs.create(files, kind))

    @app.put(base + "/api/jobs/{name}/files/{number}")
    async def receive(key: str, name: str, number: int, request: Request) -> dict[str, Any]:  # noqa: ARG001
        await jobs.receive(name, number, request.stream())
        return {}

    @app.post(base + "/api/jobs/{name}/start")
    def submit(key: str, name: str) -> dict[str, Any]:  # noqa: ARG001
        return asdict(jobs.submit(name))

    @app.post(base + "/api/jobs/{name}/choose")
    async def choose(key: str, name: str, request: Request) -> dict[str, Any]:  # noqa: ARG001
        try:
            answer = int((await request.json())["answer"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputRefused("an answer is a number") from error
        return asdict(await run_in_threadpool(jobs.choose, name, answer))

    @app.post(base + "/api/jobs/{name}/cancel")
    def cancel(key: str, name: str) -> dict[str, Any]:  # noqa: ARG001
        return asdict(jobs.cancel(name))

    @app.delete(base + "/api/jobs/{name}")
    async def delete(key: str, name: str) -> dict[str, Any]:  # noqa: ARG001
        shown.forget(name)
        await run_in_threadpool(jobs.delete, name)
        return {}

    @app.get(base + "/api/jobs/{name}/download")
    def download(key: str, name: str) -> StreamingResponse:  # noqa: ARG001
        job = jobs.get(name)
        if job.state != DONE:
            raise InputRefused(f"the job is {job.state}")
        disposition = {"Content-Disposition": f'attachment; filename="scan-{job.number}-reduced.zip"'}
        parts: Iterator[bytes] = zip_stream(jobs.result(name))
        return StreamingResponse(parts, media_type="application/zip", headers=disposition)


def _check_number(result: Result, number: int) -> None:
    if not 0 <= number < result.count:
        raise InputRefused(f"no slice {number}; there are {result.count}")


def _plane_headers(plane: Plane, inverts: bool) -> dict[str, str]:
    """Say how a slice lies; differences are shown alike whatever the slice is."""
    headers = {"X-Inverted": "1"} if plane.inverted and inverts else {}
    if plane.spacing_mm:
        headers["X-Spacing"] = ",".join(f"{mm:.9g}" for mm in plane.spacing_mm)
    if plane.edges:
        headers["X-Edges"] = ",".join(plane.edges)
    return headers


def _raw(values: NDArray[Any], kind: Any, headers: dict[str, str] | None = None) -> Response:
    """Send an array as plain numbers, rows first, its shape in a header. What is not finite becomes air."""
    array = np.asarray(values)
    if kind == np.int16:
        array = np.clip(np.rint(np.nan_to_num(array, nan=-1024.0)), LOWEST, HIGHEST)
    data = np.ascontiguousarray(array.astype(np.dtype(kind).newbyteorder("<")))
    shape = ",".join(str(side) for side in data.shape)
    return Response(data.tobytes(), media_type="application/octet-stream", headers={"X-Shape": shape} | (headers or {}))
