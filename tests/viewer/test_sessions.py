"""Results that are opened, used by several requests, and deleted meanwhile."""

import gc
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from acdnet.errors import InputRefused
from acdnet.viewer import sessions as sessions_module
from acdnet.viewer.jobs import Jobs
from acdnet.viewer.result import open_result
from acdnet.viewer.sessions import MAX_OPEN, Sessions
from tests.viewer.server import API, add_finished, client_of


def test_a_result_that_is_requested_while_it_is_deleted(
    jobs: Jobs, reduced_by_li: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = add_finished(jobs, reduced_by_li)
    shown = Sessions({}, jobs)
    monkeypatch.setattr("acdnet.viewer.app.Sessions", lambda *_: shown)
    with client_of(jobs=jobs) as client:
        assert client.get(f"{API}/results/{name}").status_code == 200
        remove = jobs.delete

        def delete(id_: str) -> None:
            assert client.get(f"{API}/results/{name}").status_code == 200  # just before
            remove(id_)

        monkeypatch.setattr(jobs, "delete", delete)
        assert client.delete(f"{API}/jobs/{name}").status_code == 200
        assert shown.opened == {}
        assert client.get(f"{API}/results/{name}").status_code == 400


def test_a_result_that_is_deleted_while_it_is_opened(
    jobs: Jobs, reduced_by_li: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = add_finished(jobs, reduced_by_li)
    shown = Sessions({}, jobs)

    def opened(folder: Path) -> Any:
        result = open_result(folder)
        jobs.delete(name)
        shown.close_job(name)
        return result

    monkeypatch.setattr(sessions_module, "open_result", opened)
    with pytest.raises(InputRefused, match="no such job"):
        shown.open(name)
    assert shown.opened == {}


def test_a_result_that_opens_slowly_delays_no_other_request(
    jobs: Jobs, reduced_by_li: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick = add_finished(jobs, reduced_by_li), add_finished(jobs, reduced_by_li)
    begun, go, count = threading.Event(), threading.Event(), 0

    def opened(folder: Path) -> Any:
        nonlocal count
        if slow in str(folder):
            count += 1
            begun.set()
            assert go.wait(20)
        return open_result(folder)

    monkeypatch.setattr(sessions_module, "open_result", opened)
    with client_of(jobs=jobs) as client, ThreadPoolExecutor(3) as pool:
        for _ in range(3):
            pool.submit(client.get, f"{API}/results/{slow}")
        assert begun.wait(20)
        start = time.monotonic()
        assert client.get(f"{API}/results/{quick}").status_code == 200
        assert client.delete(f"{API}/jobs/{quick}").status_code == 200
        assert client.get(f"{API}/start").status_code == 200
        assert time.monotonic() - start < 10
        go.set()
    assert count == 1  # the other requests wait for the first


def test_closed_results_free_their_memory_at_once(reduced: Path) -> None:
    shown = Sessions({f"r{n}": reduced for n in range(MAX_OPEN + 1)}, None)
    first = weakref.ref(shown.open("r0")[0])
    gc.disable()
    try:
        for n in range(1, MAX_OPEN):
            shown.open(f"r{n}")
        assert first() is not None
        shown.open(f"r{MAX_OPEN}")
        assert first() is None  # without waiting for the garbage collector
    finally:
        gc.enable()
    assert len(shown.opened) == MAX_OPEN
