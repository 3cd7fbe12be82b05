"""What the page asks for and what it gets: results, slices, the inside of the network, and jobs."""

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
from acdnet.viewer.inside import Inside
from acdnet.viewer.jobs import Jobs
from acdnet.viewer.layer import Plane, Result
from acdnet.viewer.shown import Shown
from acdnet.viewer.states import DONE
from acdnet.viewer.zipped import zip_stream

LOWEST, HIGHEST = -32768, 32767
LARGEST_QUESTION = 4096
"""Bytes of what the page says about a job; files come otherwise."""


def result_answers(shown: Shown) -> APIRouter:
    """Answer what the page asks about results."""
    router = APIRouter(prefix="/api/results/{name}")

    @router.get("")
    def describe(name: str) -> dict[str, Any]:
        result, inside = shown.open(name)
        return result.describe() | {"no_stages": inside.why_not()}

    @router.get("/slices/{number}/{layer}")
    def image(name: str, number: int, layer: str) -> Response:
        result, _ = _slice(shown, name, number)
        if layer == "metal":
            return _raw(result.metal(number), np.uint8)
        if layer == "doubt":
            return _raw(result.doubt(number), np.uint16)
        if layer not in {known.name for known in result.layers}:
            raise InputRefused(f"no layer {layer!r:.40}")
        inverts = not any(known.is_difference for known in result.layers if known.name == layer)
        return _raw(result.image(number, layer), np.int16, _plane_headers(result.plane(number), inverts))

    @router.get("/slices/{number}/inside/about")
    def inside_about(name: str, number: int) -> dict[str, Any]:
        return _slice(shown, name, number)[1].describe(number)

    @router.get("/slices/{number}/inside/{kind}/{t}/{n}")
    def inside_image(name: str, number: int, kind: str, t: int, n: int) -> Response:
        result, inside = _slice(shown, name, number)
        headers = _plane_headers(result.plane(number), kind == "images")
        return _raw(inside.image(number, kind, t, n), np.int16, headers)

    return router


async def _question(request: Request) -> dict[str, Any]:
    """Read the few words of JSON that come with a request."""
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > LARGEST_QUESTION:
            raise InputRefused(f"a question has at most {LARGEST_QUESTION} bytes")
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputRefused("a question is an object in JSON") from error
    if not isinstance(values, dict):
        raise InputRefused("a question is an object in JSON")
    return values


Question = Annotated[dict[str, Any], Depends(_question)]


def job_answers(jobs: Jobs, shown: Shown) -> APIRouter:
    """Answer what the page asks about jobs. All but the arrival of files waits for the disk, in threads."""
    router = APIRouter(prefix="/api/jobs")

    @router.get("")
    def listed() -> list[dict[str, Any]]:
        return [asdict(job) | {"progress": jobs.progress(job.id)} for job in jobs.all()]

    @router.post("")
    def create(wanted: Question) -> dict[str, Any]:
        return asdict(jobs.create(_whole(wanted, "files"), str(wanted.get("kind"))))

    @router.put("/{name}/files/{number}")
    async def receive(name: str, number: int, request: Request) -> dict[str, Any]:
        await jobs.receive(name, number, request.stream())
        return {}

    @router.post("/{name}/start")
    def submit(name: str) -> dict[str, Any]:
        return asdict(jobs.submit(name))

    @router.post("/{name}/choose")
    def choose(name: str, wanted: Question) -> dict[str, Any]:
        return asdict(jobs.choose(name, _whole(wanted, "answer")))

    @router.post("/{name}/cancel")
    def cancel(name: str) -> dict[str, Any]:
        return asdict(jobs.cancel(name))

    @router.delete("/{name}")
    def delete(name: str) -> dict[str, Any]:
        try:
            jobs.delete(name)
        finally:
            shown.forget(name)  # afterwards: nobody can open it again
        return {}

    @router.get("/{name}/download")
    def download(name: str) -> StreamingResponse:
        job = jobs.get(name)
        if job.state != DONE:
            raise InputRefused(f"the job is {job.state}")
        disposition = {"Content-Disposition": f'attachment; filename="scan-{job.number}-reduced.zip"'}
        parts: Iterator[bytes] = zip_stream(jobs.result(name))
        return StreamingResponse(parts, media_type="application/zip", headers=disposition)

    return router


def _whole(wanted: dict[str, Any], name: str) -> int:
    value = wanted.get(name)
    if type(value) is not int:
        raise InputRefused(f"{name} has to be a whole number")
    return value


def _slice(shown: Shown, name: str, number: int) -> tuple[Result, Inside]:
    """Open a result and make sure that it has a slice."""
    result, inside = shown.open(name)
    if not 0 <= number < result.count:
        raise InputRefused(f"no slice {number}; there are {result.count}")
    return result, inside


def _plane_headers(plane: Plane, inverts: bool) -> dict[str, str]:
    """Say how a slice lies; differences are shown alike whatever the slice is."""
    headers = {"X-Inverted": "1"} if plane.inverted and inverts else {}
    if plane.spacing_mm:
        headers["X-Spacing"] = ",".join(f"{mm:.9g}" for mm in plane.spacing_mm)
    if plane.edges:
        headers["X-Edges"] = ",".join(plane.edges)
    return headers


def _raw(values: NDArray[Any] | None, kind: Any, headers: dict[str, str] | None = None) -> Response:
    """Send an array as plain numbers, rows first, its shape in a header. What is not finite becomes air."""
    if values is None:
        return Response(status_code=204)
    array = np.asarray(values)
    if kind == np.int16:
        array = np.clip(np.rint(np.nan_to_num(array, nan=-1024.0)), LOWEST, HIGHEST)
    data = np.ascontiguousarray(array.astype(np.dtype(kind).newbyteorder("<")))
    shape = ",".join(str(side) for side in data.shape)
    return Response(data.tobytes(), media_type="application/octet-stream", headers={"X-Shape": shape} | (headers or {}))
