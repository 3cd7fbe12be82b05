"""`acdnet batch` with real processes."""

import csv
import importlib.util
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from acdnet.batch import processes
from acdnet.batch.find import Part, find_tasks
from acdnet.batch.rows import read_rows, row_path
from acdnet.batch.work import Plan, reduce_task
from tests.batch.make import DieAlways, die_once, tree
from tests.reduction.make import Ran, run, same_but_for_the_time, series


def batch(source: Path, out: Path, *options: object) -> Ran:
    return run("batch", source, out, "--method", "li", "--workers", 2, *options)


def statuses(out: Path) -> list[str]:
    with (out / "series.csv").open() as file:
        return sorted(row["status"] for row in csv.DictReader(file))


def test_every_series_gets_a_row_and_a_second_run_does_nothing(tmp_path: Path) -> None:
    source, out = tree(tmp_path / "in"), tmp_path / "out"
    done = batch(source, out)
    assert done.code == 0, done.text
    assert statuses(out) == ["no metal", "reduced", "reduced", "refused"]
    by_status = {row.status: row for row in read_rows(out)}
    assert by_status["refused"].reason == "a file: RescaleType is not valid; only HU is supported"
    assert (by_status["reduced"].slices, by_status["reduced"].metal_slices) == (2, 1)
    finished = [row.series for row in read_rows(out) if row.status != "refused"]
    assert all((out / key / "report.html").exists() for key in finished)

    alone = tmp_path / "alone"
    assert run("reduce", source / "Meier^0" / "CT", alone, "--method", "li").code == 0
    key = find_tasks(source / "Meier^0", Part(), lambda _: None)[0].key
    assert same_but_for_the_time(alone, out / key)

    for text in [done.text, *(path.read_text() for path in out.rglob("*") if path.suffix in (".csv", ".json"))]:
        assert "Meier" not in text
    assert "Meier" not in "".join(map(str, out.rglob("*")))

    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file() and path.suffix != ".csv"}
    again = batch(source, out)
    assert again.code == 0
    assert "4 series, 4 of them done before" in again.text
    after = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file() and path.suffix != ".csv"}
    assert {path.name for path in before if before[path] != after[path]} == {"batch.json"}


def test_a_killed_process_loses_no_series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, out = tree(tmp_path / "in"), tmp_path / "out"
    bad = find_tasks(source / "Meier^1", Part(), lambda _: None)[0].key
    monkeypatch.setattr(processes, "_work", DieAlways(bad))
    assert batch(source, out).code == 0
    assert statuses(out) == ["failed", "no metal", "reduced", "refused"]
    (failed,) = (row for row in read_rows(out) if row.status == "failed")
    assert (failed.series, failed.reason) == (bad, "its process ended twice (killed by SIGKILL)")
    monkeypatch.undo()
    monkeypatch.setattr(processes, "_work", die_once)
    assert batch(source, out, "--retry").code == 0
    assert (out / "died").exists()
    assert statuses(out) == ["no metal", "reduced", "reduced", "refused"]


def test_a_result_without_its_row_is_kept(tmp_path: Path) -> None:
    """As after a power failure between the two."""
    source, out = series(tmp_path / "in", (True,)), tmp_path / "out"
    assert batch(source, out, "--workers", 1).code == 0
    (row,) = read_rows(out)
    row_path(out, row.series).unlink()
    (task,) = find_tasks(source, Part(), lambda _: None)
    created = (out / task.key / "report.json").stat().st_mtime_ns
    assert reduce_task(task, Plan(str(out), "li")) == read_rows(out)[0]
    assert read_rows(out)[0].status == "reduced"
    assert (out / task.key / "report.json").stat().st_mtime_ns == created


def test_impossible_places_and_settings(tmp_path: Path) -> None:
    source = series(tmp_path / "in", (True,))
    out = tmp_path / "out"
    assert batch(source, source / "out").code == 2
    assert batch(tmp_path / "missing", out).code == 3
    assert batch(source, out, "--part", "2/1").code == 2
    assert not out.exists()
    assert batch(source, out, "--device", "nothing").code == 2
    assert not list((out / "rows").iterdir())
    out.joinpath("batch.json").write_text('{"method": "nmar"}')
    assert "another method" in batch(source, out).text
    assert "not made by acdnet batch" in batch(source, _used(tmp_path)).text


def _used(folder: Path) -> Path:
    (folder / "used").mkdir()
    (folder / "used" / "file").touch()
    return folder / "used"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="extra cluster is not installed")
def test_a_cluster_of_dask_loses_no_series(tmp_path: Path) -> None:
    """Two workers, one of which is killed as soon as there is a row."""
    from distributed import LocalCluster

    source, out, killed = tree(tmp_path / "in", good=6), tmp_path / "out", threading.Event()
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        pid = cluster.workers[0].process.pid

        def kill() -> None:
            while not list((out / "rows").glob("*.json")):
                time.sleep(0.01)
            os.kill(pid, signal.SIGKILL)
            killed.set()

        threading.Thread(target=kill, daemon=True).start()
        done = batch(source, out, "--scheduler", cluster.scheduler_address)
    assert killed.is_set()
    assert done.code == 0, done.text
    assert statuses(out) == ["no metal", *["reduced"] * 6, "refused"]


def test_a_scheduler_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = batch(series(tmp_path / "in", (True,)), tmp_path / "out", "--scheduler", "tcp://127.0.0.1:1")
    assert done.code == 5
    assert "acdnet[cluster]" in done.text
