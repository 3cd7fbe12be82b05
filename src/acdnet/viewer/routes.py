"""The HTTP routes of the page: results, slices, network stages, and jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import StreamingResponse
from numpy.typing import NDArray

from acdnet.errors import InputRefused
from acdnet.viewer.jobs import Jobs
from acdnet.viewer.rerun import reduce_again, run_with_choice
from acdnet.viewer.safe_read import refuse_links
from acdnet.viewer.sessions import Session, Sessions
from acdnet.viewer.view_model import Plane
from acdnet.viewer.zipstream import zip_stream

MIN_INT16, MAX_INT16 = -32768, 32767
MAX_BODY_BYTES = 4096
"""Largest JSON body; files have a route of their own."""


def result_routes(sessions: Sessions) -> APIRouter:
    """Return the routes of results."""
    router = APIRouter(prefix="/api/results/{name}")

    @router.get("")
    def describe(name: str) -> dict[str, Any]:
        result, stages = sessions.open(name)
        return result.describe() | {"no_stages": stages.why_unavailable()}

    @router.get("/slices/{number}/{layer}")
    def image(name: str, number: int, layer: str) -> Response:
        result, _ = _open_slice(sessions, name, number)
        if layer == "metal":
            return _array_response(result.metal(number), np.uint8)
        if layer == "expected_error_hu":
            return _array_response(result.expected_error_hu(number), np.uint16)
        if layer == "objects":
            return _array_response(result.objects(number), np.uint16)
        if layer not in {known.name for known in result.layers}:
            raise InputRefused(f"no layer {layer!r:.40}")
        may_invert = not any(known.is_difference for known in result.layers if known.name == layer)
        headers = _plane_headers(result.plane(number), may_invert)
        return _array_response(result.image(number, layer), np.int16, headers)

    @router.get("/slices/{number}/stages/about")
    def stages_about(name: str, number: int) -> dict[str, Any]:
        return _open_slice(sessions, name, number).stages.describe(number)

    @router.get("/slices/{number}/stages/{kind}/{t}/{n}")
    def stage_image(name: str, number: int, kind: str, t: int, n: int) -> Response:
        result, stages = _open_slice(sessions, name, number)
        headers = _plane_headers(result.plane(number), kind == "images")
        return _array_response(stages.image(number, kind, t, n), np.int16, headers)

    return router


async def _read_body(request: Request) -> dict[str, Any]:
    """Read the small JSON object of a request."""
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > MAX_BODY_BYTES:
            raise InputRefused(f"the request is larger than {MAX_BODY_BYTES} bytes")
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputRefused("the request is not valid JSON") from error
    if not isinstance(values, dict):
        raise InputRefused("the request is not a JSON object")
    return values


Body = Annotated[dict[str, Any], Depends(_read_body)]


def job_routes(jobs: Jobs, sessions: Sessions) -> APIRouter:
    """Return the routes of jobs. All but file uploads are synchronous and run in threads."""
    router = APIRouter(prefix="/api/jobs")

    @router.get("")
    def list_jobs() -> list[dict[str, Any]]:
        return [asdict(job) | {"progress": jobs.progress(job.id)} for job in jobs.all()]

    @router.post("")
    def create(body: Body) -> dict[str, Any]:
        return asdict(jobs.create(_integer(body, "files"), str(body.get("kind"))))

    @router.put("/{id_}/files/{number}")
    async def receive(id_: str, number: int, request: Request) -> dict[str, Any]:
        await jobs.receive(id_, number, request.stream())
        return {}

    @router.post("/{id_}/start")
    def submit(id_: str) -> dict[str, Any]:
        return asdict(jobs.submit(id_))

    @router.post("/{id_}/choose")
    def choose(id_: str, body: Body) -> dict[str, Any]:
        return asdict(run_with_choice(jobs, id_, _integer(body, "answer")))

    @router.post("/{id_}/again")
    def again(id_: str, body: Body) -> dict[str, Any]:
        return asdict(reduce_again(jobs, id_, _integers(body, "keep"), _integers(body, "drop")))

    @router.post("/{id_}/cancel")
    def cancel(id_: str) -> dict[str, Any]:
        return asdict(jobs.cancel(id_))

    @router.delete("/{id_}")
    def delete(id_: str) -> dict[str, Any]:
        try:
            jobs.delete(id_)
        finally:
            sessions.close_job(id_)  # after the deletion: the result cannot be opened again
        return {}

    @router.get("/{id_}/download")
    def download(id_: str) -> StreamingResponse:
        folder, number = jobs.result(id_), jobs.get(id_).number
        refuse_links(folder)
        disposition = {"Content-Disposition": f'attachment; filename="scan-{number}-reduced.zip"'}
        parts: Iterator[bytes] = zip_stream(folder)
        return StreamingResponse(parts, media_type="application/zip", headers=disposition)

    return router


def _integer(body: dict[str, Any], name: str) -> int:
    value = body.get(name)
    if type(value) is not int:
        raise InputRefused(f"{name} is {value!r:.20}; it must be an integer")
    return value


def _integers(body: dict[str, Any], name: str) -> tuple[int, ...]:
    values = body.get(name)
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise InputRefused(f"{name} is {values!r:.20}; it must be a list of integers")
    return tuple(values)


def _open_slice(sessions: Sessions, name: str, number: int) -> Session:
    """Open a result and check that it has the slice."""
    session = sessions.open(name)
    if not 0 <= number < session.result.count:
        raise InputRefused(f"no slice {number}; the result has {session.result.count} slices, counted from 0")
    return session


def _plane_headers(plane: Plane, may_invert: bool) -> dict[str, str]:
    """Return spacing, orientation and inversion as headers; differences are never inverted."""
    headers = {"X-Inverted": "1"} if plane.inverted and may_invert else {}
    if plane.spacing_mm:
        headers["X-Spacing"] = ",".join(f"{mm:.9g}" for mm in plane.spacing_mm)
    if plane.edges:
        headers["X-Edges"] = ",".join(plane.edges)
    return headers


def _array_response(values: NDArray[Any] | None, kind: Any, headers: dict[str, str] | None = None) -> Response:
    """Send an array as raw little-endian numbers, row by row, its shape in a header. NaN becomes air."""
    if values is None:
        return Response(status_code=204)
    array = np.asarray(values)
    if kind == np.int16:
        array = np.clip(np.rint(np.nan_to_num(array, nan=-1024.0)), MIN_INT16, MAX_INT16)
    data = np.ascontiguousarray(array.astype(np.dtype(kind).newbyteorder("<")))
    shape = ",".join(str(side) for side in data.shape)
    return Response(data.tobytes(), media_type="application/octet-stream", headers={"X-Shape": shape} | (headers or {}))
